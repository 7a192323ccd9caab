"""Step: a span whose parent never arrived goes below the shortest span of its trace that holds it."""

from __future__ import annotations

from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.timeline.containers import shortest
from spanwise_analyzer.timeline.forest import Forest, by_trace
from spanwise_analyzer.tree import Node


def adopt(forest: Forest) -> None:
    """Give orphans a parent by time; those that nothing holds stay at the top, flagged."""
    orphans = [node for node in forest.blocking() if node in forest.orphans and node.top]
    if not orphans:
        return
    tops, depths = _places(forest)
    parents = _adopters(forest, orphans, tops=tops, depths=depths)
    for orphan in orphans:
        if orphan in parents:
            orphan.parent = parents[orphan]
        forest.note(orphan, Oddity.ORPHAN_ADOPTED if orphan in parents else Oddity.PARENT_MISSING)


def _places(forest: Forest) -> tuple[dict[Node, Node], dict[Node, int]]:
    """The topmost ancestor and the depth of every node."""
    tops: dict[Node, Node] = {}
    depths: dict[Node, int] = {}
    for node in forest.top_down():
        parent = node.parent
        above = parent is not None and parent in tops
        tops[node] = tops[parent] if above and parent is not None else node
        depths[node] = depths[parent] + 1 if above and parent is not None else 0
    return tops, depths


def _adopters(
    forest: Forest, orphans: list[Node], *, tops: dict[Node, Node], depths: dict[Node, int]
) -> dict[Node, Node]:
    """Descendants cannot adopt: they are of the orphan's own family."""
    parents: dict[Node, Node] = {}
    candidates = by_trace(forest.blocking())
    for trace, members in by_trace(orphans).items():
        parents.update(shortest(candidates[trace], members, family=tops.__getitem__, depth=depths.__getitem__))
    return _acyclic(parents, orphans, tops)


def _acyclic(parents: dict[Node, Node], orphans: list[Node], tops: dict[Node, Node]) -> dict[Node, Node]:
    """Two orphans may lie inside each other's descendants: the first of such a ring stays at the top."""
    settled: set[Node] = set()
    for start in orphans:
        path: dict[Node, None] = {}
        node = start
        while node in parents and node not in settled and node not in path:
            path[node] = None
            node = tops[parents[node]]
        if node in path:
            del parents[node]
        settled.update(path)
    return parents
