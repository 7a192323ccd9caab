"""When the children of one span start in a replay, in ns after the span's own new start."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from heapq import heappop, heappush, heapreplace
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from spanwise_analyzer.tree import Node

Factor: TypeAlias = Fraction | float


def scaled(ns: int, factor: Factor) -> int:
    """A duration times a factor, in whole ns; factor 1 changes nothing, however long the duration."""
    return ns if factor == 1 else round(ns * factor)


class _Ended(NamedTuple):
    """A child that is placed. ``own_ns``: its parent's own time until it started, which is also that until it ended."""

    old_end: int
    new_end: int
    own_ns: int


class Past:
    """The children placed so far, and what of the parent's time passed with none of them running."""

    def __init__(self, node: Node) -> None:
        self.old_end, self.new_end = node.eff_start_ns, 0
        self._own_ns = 0
        self._basis = _Ended(node.eff_start_ns, 0, 0)
        self._running: list[_Ended] = []
        self._placed: dict[Node, _Ended] = {}

    def next_start(self, child: Node, factor: Factor, *, waits_for: Iterable[Node]) -> int:
        """Where a child starts: after the siblings it waits for, if none is known after all that had ended before it.

        None is known either where work that began after those had ended came in between: the child waited for that
        as well. Only the parent's own time in between is scaled.
        """
        self._own_ns += max(0, child.eff_start_ns - self.old_end)
        basis = self._named(child, waits_for) or self._ended(child)
        own_ns = self._own_ns - basis.own_ns
        return basis.new_end + (child.eff_start_ns - basis.old_end - own_ns) + scaled(own_ns, factor)

    def add(self, child: Node, new_end: int) -> None:
        """Place a child; children come by old start."""
        ended = _Ended(child.eff_end_ns, new_end, self._own_ns)
        self.old_end, self.new_end = max(self.old_end, ended.old_end), max(self.new_end, new_end)
        self._placed[child] = ended
        heappush(self._running, ended)

    def _ended(self, child: Node) -> _Ended:
        while self._running and self._running[0].old_end <= child.eff_start_ns:
            ended = heappop(self._running)
            self._basis = _Ended(ended.old_end, max(self._basis.new_end, ended.new_end), ended.own_ns)
        return self._basis

    def _named(self, child: Node, waits_for: Iterable[Node]) -> _Ended | None:
        placed = (self._placed[node] for node in waits_for if node in self._placed)
        before = [ended for ended in placed if ended.old_end <= child.eff_start_ns]
        if not before:
            return None
        last = max(before)
        if self._between(last.old_end, child.eff_start_ns):
            return None
        return last._replace(new_end=max(ended.new_end for ended in before))

    def _between(self, after: int, before: int) -> bool:
        """Whether a sibling began and ended between these moments."""
        began_after = takewhile(lambda placed: placed.eff_start_ns >= after, reversed(self._placed))
        return any(placed.eff_end_ns <= before for placed in began_after if placed.eff_end_ns > placed.eff_start_ns)


class Line:
    """Siblings that start together, at most ``cap`` of them at a time."""

    def __init__(self, first_start: int, cap: int | None) -> None:
        self._first_start, self._cap = first_start, cap
        self._ends: list[int] = []

    def start(self, took: int) -> int:
        """Where the next of them starts."""
        if self._cap is None or len(self._ends) < max(1, self._cap):
            heappush(self._ends, self._first_start + took)
            return self._first_start
        start = self._ends[0]
        heapreplace(self._ends, start + took)
        return start
