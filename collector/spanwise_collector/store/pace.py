"""How long commits take, as a histogram since the start of the process."""

from __future__ import annotations

import threading
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

BOUNDS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many took at most each of BOUNDS_S, how many there were in all, and the sum of their seconds."""

    at_most: tuple[int, ...]
    number: int
    seconds: float


class Pace:
    """Counts durations; one thread observes, any may read."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_S) + 1)
        self._seconds = 0.0
        self._lock = threading.Lock()

    def observe(self, seconds: float) -> None:
        """One more."""
        with self._lock:
            self._counts[bisect_left(BOUNDS_S, seconds)] += 1
            self._seconds += seconds

    def histogram(self) -> Histogram:
        """All so far."""
        with self._lock:
            *at_most, number = accumulate(self._counts)
            return Histogram(tuple(at_most), number, self._seconds)
