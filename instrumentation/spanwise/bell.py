"""Wakes a thread, from anywhere: a garbage collection in the midst of waking may end a span that wakes it once more."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue


class Bell:
    """What ``threading.Event`` is, without the lock that makes it wait for itself there."""

    def __init__(self) -> None:
        self._rings: SimpleQueue[None] = SimpleQueue()

    @property
    def rung(self) -> bool:
        """Whether nobody has heard it yet."""
        return not self._rings.empty()

    def ring(self) -> None:
        """Wake who waits, or the next to wait."""
        self._rings.put(None)

    def wait(self, seconds: float) -> None:
        """Until it rings, at most so long; then it is silent."""
        with suppress(Empty):
            self._rings.get(timeout=seconds)
            for _ in range(self._rings.qsize()):
                self._rings.get_nowait()
