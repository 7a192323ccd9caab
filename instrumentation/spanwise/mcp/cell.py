"""The generator inside a context manager of ``contextlib``, replaced where the context manager looks it up.

Whoever has imported the context manager by its name, before or after us, then gets our generator.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import CellType
from typing import Any

_VARIABLE = "func"  # what contextlib's wrapper calls the generator function that it was given


class Cell:
    """One generator function, exchanged until ``close``."""

    def __init__(self, place: CellType, make: Callable[[Any], Any]) -> None:
        self._place = place
        self._original = place.cell_contents
        self._ours = make(self._original)
        place.cell_contents = self._ours

    def close(self) -> None:
        """Put the original back, unless somebody else's stands there by now."""
        if self._place.cell_contents is self._ours:
            self._place.cell_contents = self._original


def place(function: Any) -> CellType | None:
    """Where ``function``, a context manager that may be wrapped by others, keeps its generator function."""
    while function is not None:
        code = getattr(function, "__code__", None)
        if code is not None and code.co_filename == contextlib.__file__ and _VARIABLE in code.co_freevars:
            return function.__closure__[code.co_freevars.index(_VARIABLE)]  # type: ignore[no-any-return]
        function = getattr(function, "__wrapped__", None)
    return None
