"""A marked piece of work: a ``with`` block, sync or async, or every run of a decorated function."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Token
from copy import copy
from types import TracebackType
from typing import Any, Self, TypeVar

from opentelemetry.context import Context, attach, detach, get_current

from spanwise.safety import guarded, shield

F = TypeVar("F", bound=Callable[..., Any])


class Scope:
    """What a piece of work has open while it runs. Subclasses say what that is.

    ``start`` opens it without touching the current context, ``active`` makes it current for a while, ``finish``
    closes it, once. ``with`` does all three.
    """

    def __init__(self) -> None:
        self._ctx: Context | None = None
        self._finished = False
        self._token: Token[Context] | None = None
        self._strand: object = None

    def opened(self) -> Context:
        """Open the work and return the context to run it in."""
        raise NotImplementedError

    def closed(self, error: BaseException | None) -> None:
        """Close the work; ``error`` is what left it."""

    def returned(self, value: Any) -> None:
        """Take note of what the decorated function returned."""

    def fresh(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Scope:
        """A scope of the same kind for one run of the decorated ``fn``."""
        del fn, args, kwargs
        return copy(self)

    @guarded
    def start(self) -> None:
        """Open the work; it is not current yet."""
        self._finished = False
        self._ctx = self.opened()

    @guarded
    def finish(self, error: BaseException | None = None) -> None:
        """Close the work. Only the first time counts."""
        if not self._finished and self._ctx is not None:
            self._finished = True
            self.closed(error)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make the work current inside the block."""
        token = attach(self._ctx if self._ctx is not None else get_current())
        try:
            yield
        finally:
            detach(token)

    def __enter__(self) -> Self:
        self.start()
        with shield():
            self._strand = _strand()
            self._token = None if self._ctx is None else attach(self._ctx)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with shield():
            self._detach()
        self.finish(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, fn: F) -> F:
        """Decorate ``fn``: each run of it is one piece of work of this kind."""
        from spanwise.wrapping import wrapped

        return wrapped(fn, self.fresh)

    def _detach(self) -> None:
        token, self._token = self._token, None
        # A block that was entered in one task and is left in another (a generator closed by somebody else) must
        # not reset a context variable there: that context never saw the block.
        if token is not None and self._strand == _strand():
            detach(token)


def _strand() -> object:
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return task or threading.get_ident()
