"""A place where an SDK's function is replaced by ours, and put back as the very same object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MISSING = object()


class Seam:
    """One attribute of one class or module; ``open`` and ``close`` may be called again and again."""

    def __init__(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        """``wrap`` gets the original function and returns the one that takes its place."""
        self._owner, self._name, self._wrap = owner, name, wrap
        self._original: Any = _MISSING
        self._ours: Any = _MISSING

    def open(self) -> None:
        """Put our function in place."""
        if self._original is not _MISSING:
            return
        self._original = vars(self._owner)[self._name]
        self._ours = self._wrap(self._original)
        setattr(self._owner, self._name, self._ours)

    def close(self) -> None:
        """Put the original back; if somebody wrapped ours meanwhile, theirs must stay and ours goes on under it."""
        if self._original is _MISSING or vars(self._owner).get(self._name) is not self._ours:
            return
        setattr(self._owner, self._name, self._original)
        self._original = self._ours = _MISSING
