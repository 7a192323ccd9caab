"""A place where an SDK's function is replaced by ours, and put back as the very same object."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from inspect import iscoroutinefunction
from types import FunctionType
from typing import Any

from spanwise.neighbours import MARK, bypasses

_MISSING = object()


class Seam:
    """One attribute of one class or module; ``open`` and ``close`` may be called again and again."""

    def __init__(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        """``wrap`` gets the original function and returns the one that takes its place."""
        self._owner, self._name, self._wrap = owner, name, wrap
        self._original: Any = _MISSING
        self._ours: Any = _MISSING
        self._around: list[Seam] = []

    def open(self) -> None:
        """Put our function in place, and around those that others have put in its place on subclasses."""
        if self._original is not _MISSING:
            return
        others = bypasses(self._owner, self._name)
        self._original = vars(self._owner)[self._name]
        self._ours = self._wrap(_unbound(self._original))
        with suppress(AttributeError, TypeError):
            setattr(self._ours, MARK, True)
        setattr(self._owner, self._name, self._ours)
        self._around = [Seam(kind, self._name, self._wrap) for kind in others if self._regards(kind)]
        for seam in self._around:
            seam.open()

    def _regards(self, kind: type[Any]) -> bool:
        """Whether what we put there goes on to what is there, and is not the same whatever it replaces."""
        return self._wrap(_unbound(vars(kind)[self._name])) is not self._ours

    def close(self) -> None:
        """Put the original back; if somebody wrapped ours meanwhile, theirs must stay and ours goes on under it."""
        while self._around:
            self._around.pop().close()
        if self._original is _MISSING or vars(self._owner).get(self._name) is not self._ours:
            return
        setattr(self._owner, self._name, self._original)
        self._original = self._ours = _MISSING


def _unbound(original: Any) -> Any:
    """The original as a plain function that takes ``self``: wrappers of others look at how they were bound."""
    if type(original) is FunctionType or not hasattr(original, "__get__"):  # proxies claim to be functions
        return original

    @wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original.__get__(self, type(self))(*args, **kwargs)

    @wraps(original)
    async def call_async(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await original.__get__(self, type(self))(*args, **kwargs)

    return call_async if iscoroutinefunction(original) else call
