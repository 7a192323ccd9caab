"""A marked piece of work: a ``with`` block, sync or async, or every run of a decorated function."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import Token
from copy import copy
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from opentelemetry.context import Context, attach, create_key, detach, get_current, get_value, set_value

from spanwise.safety import guarded

F = TypeVar("F", bound=Callable[..., Any])


class Scope:
    """What a piece of work has open while it runs. Subclasses say what that is.

    ``start`` opens it without touching the current context, ``active`` makes it current for a while, ``finish``
    closes it, once. ``with`` does all three. One object may be entered again, also while it is open: then ``as``
    gives a run of its own, and each exit closes the run that was entered last by the same task or thread.
    """

    def __init__(self) -> None:
        self._ctx: Context | None = None
        self._finished = False
        self._token: Token[Context] | None = None
        self._layer: Layer | None = None
        self._open: tuple[_Run, ...] = ()

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
        self._finished, self._ctx = False, None
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
            _leave(token)

    @guarded
    def attach(self) -> None:
        """Make the work current until ``detach``."""
        if self._ctx is not None:
            self._layer = Layer(get_value(_LAYER))
            self._token = attach(set_value(_LAYER, self._layer, self._ctx))

    @guarded
    def detach(self) -> None:
        """Make current what was so before, where that can be done from here and the work is current at all."""
        token, self._token = self._token, None
        if token is not None and _current(self._layer):
            _leave(token)

    def __enter__(self) -> Self:
        run = self._begun()
        run.start()
        run.attach()
        return run

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run = self._ended()
        run.detach()
        run.finish(error)

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

    def _begun(self) -> Self:
        """What this entry runs: the object itself, or a copy where it is open already."""
        with _lock:
            run = copy(self) if self._open else self
            self._open = (*self._open, _Run(_strand(), run))
        return run

    def _ended(self) -> Scope:
        """The run that was entered last here; where there is none, the block was entered elsewhere."""
        strand = _strand()
        with _lock:
            own = [run for run in self._open if run.strand == strand]
            last = (own or self._open or (_Run(strand, self),))[-1]
            self._open = tuple(run for run in self._open if run is not last)
        return last.scope


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """One entry of a scope, and the task or thread that entered."""

    strand: object
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Marks a context as made inside of a block, and of those around it."""

    outer: object


_LAYER = create_key("spanwise-layer")
_lock = threading.RLock()  # a handler of a signal may open a block while another one is being opened
if hasattr(os, "register_at_fork"):  # a child of fork must not find it held by a thread that it does not have

    def _unlock() -> None:
        global _lock  # noqa: PLW0603 - one process has one lock
        _lock = threading.RLock()

    os.register_at_fork(after_in_child=_unlock)


def _current(layer: Layer | None) -> bool:
    """Whether what is current now was made inside of the block.

    It is not where a block around it was left first, as one in a generator may outlive the block that it was read in:
    what to return to would then be what has ended meanwhile.
    """
    found = get_value(_LAYER)
    while isinstance(found, Layer) and found is not layer:
        found = found.outer
    return found is layer


def _leave(token: Any) -> None:
    # A block that was entered in one context and is left in another (a generator closed by somebody else, or read
    # by the threads of a pool) must not touch the context there, which never saw the block: resetting the variable
    # itself tells the two apart, where the SDK's function would write an error to the log.
    if isinstance(token, Token):
        with suppress(ValueError):
            token.var.reset(token)
    else:  # of another implementation of the context
        detach(token)


def _strand() -> object:
    return _task("asyncio") or _task("trio.lowlevel") or threading.get_ident()


def _task(library: str) -> object:
    # Where nobody has loaded it there is no task, and it is not loaded for that answer.
    module = sys.modules.get(library)
    try:
        return None if module is None else module.current_task()
    except RuntimeError:
        return None
