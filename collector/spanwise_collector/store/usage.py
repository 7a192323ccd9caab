"""How much of its file the database uses; what was deleted is kept in mind until later checkpoints free it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

Blocks: TypeAlias = tuple[int, int]  # bytes in used blocks, bytes in all blocks

_AIM: Final = 0.95  # of the limit, so that not every checkpoint is followed by a deletion
_CHECKPOINTS: Final = 2  # the first marks blocks as free, the second lets them be used again


class Usage:
    """Compares used blocks with a limit; used by one thread. Blocks change at checkpoints only."""

    def __init__(self, blocks: Callable[[], Blocks]) -> None:
        self._blocks = blocks
        self._seen: Blocks = (0, 0)
        self._checkpoints = 0
        self._owed = 0.0
        self._per_span = 0.0

    def excess_spans(self, limit: int, spans: int) -> int:
        """How many of the stored spans are too many for this many bytes, 0 for no limit."""
        blocks = self._blocks()
        if blocks != self._seen:
            self._seen = blocks
            self._checkpoints += 1
        if self._checkpoints >= _CHECKPOINTS:
            self._owed = 0.0
        used = max(0.0, blocks[0] - self._owed)
        self._per_span = used / max(1, spans)
        return math.ceil((1 - _AIM * limit / used) * spans) if limit and used > limit else 0

    def freed(self, spans: int) -> None:
        """This many were deleted; their bytes come back later."""
        self._owed += spans * self._per_span
        self._checkpoints = 0
