"""The shortest interval around another one, for many at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple, TypeAlias

from spanwise_analyzer.tree import Node
from spanwise_collector.span import SpanKey

Family: TypeAlias = Callable[[Node], Hashable]


class Holder(NamedTuple):
    """A candidate; the smallest is the best: short before long, then deep before shallow, then by key."""

    ns: int
    depth: int  # negative
    key: SpanKey
    node: Node
    family: Hashable


Best: TypeAlias = tuple[Holder, ...]  # at most two, of different families, best first


class _Ends:
    """The best holders that end at or after an instant: a Fenwick tree over the candidates' ends."""

    def __init__(self, ends: Iterable[int]) -> None:
        self._ends = sorted({-end for end in ends})
        self._best: list[Best] = [()] * (len(self._ends) + 1)

    def add(self, holder: Holder) -> None:
        at = bisect_left(self._ends, -holder.node.end_ns) + 1
        while at < len(self._best):
            self._best[at] = _better(self._best[at], (holder,))
            at += at & -at

    def around(self, end_ns: int) -> Best:
        """The best ones that end at ``end_ns`` or later."""
        at = bisect_left(self._ends, -end_ns + 1)
        found: Best = ()
        while at > 0:
            found = _better(found, self._best[at])
            at -= at & -at
        return found


def shortest(
    candidates: Iterable[Node],
    inner: Iterable[Node],
    *,
    family: Family,
    depth: Callable[[Node], int],
    strict: bool = True,
) -> dict[Node, Node]:
    """For each inner node the shortest candidate of another family that contains it, if ``strict`` a longer one.

    One sweep over starts, O(n log n). Two families of best holders suffice, since only one can be the node's own.
    """
    waiting = sorted(candidates, key=lambda node: -node.start_ns)
    ends = _Ends(node.end_ns for node in waiting)
    found: dict[Node, Node] = {}
    for group in _by_start(inner):
        _admit(ends, waiting, group[0].start_ns, family=family, depth=depth)
        earlier = {node: ends.around(node.end_ns) for node in group}
        _admit(ends, waiting, group[0].start_ns + 1, family=family, depth=depth)
        for node in group:
            best = _better(earlier[node], ends.around(node.end_ns + strict))
            found.update((node, holder.node) for holder in best[::-1] if holder.family != family(node))
    return found


def _admit(ends: _Ends, waiting: list[Node], before_ns: int, *, family: Family, depth: Callable[[Node], int]) -> None:
    while waiting and waiting[-1].start_ns < before_ns:
        node = waiting.pop()
        ends.add(Holder(node.ns, -depth(node), node.key, node, family(node)))


def _by_start(nodes: Iterable[Node]) -> Iterable[list[Node]]:
    groups: dict[int, list[Node]] = {}
    for node in nodes:
        groups.setdefault(node.start_ns, []).append(node)
    return (groups[start] for start in sorted(groups))


def _better(one: Best, other: Best) -> Best:
    """The best two holders of different families."""
    if not one or not other:
        return one or other
    ranked = sorted({*one, *other}, key=lambda holder: holder[:3])
    rest = next((holder for holder in ranked[1:] if holder.family != ranked[0].family), None)
    return (ranked[0],) if rest is None else (ranked[0], rest)
