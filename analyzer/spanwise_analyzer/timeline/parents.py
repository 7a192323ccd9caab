"""Step: link each span to its parent; loops of parents are set aside."""

from __future__ import annotations

from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node


def link(forest: Forest) -> None:
    """Set ``parent`` within each trace; members of a loop and all below them become background."""
    for node in forest.nodes.values():
        node.parent = _parent(node, forest)
        if node.top and _named(node.record.parent_id):
            forest.orphans.add(node)
    sound = set(forest.top_down())
    lost = [node for node in forest.nodes.values() if node not in sound]
    for node in lost:
        node.background = True
        forest.note(node, Oddity.PARENT_CYCLE)
    for node in _loops(lost):
        node.parent = forest.root


def _parent(node: Node, forest: Forest) -> Node:
    found = forest.nodes.get((node.record.trace_id, node.record.parent_id))
    return forest.root if found is None or not _named(node.record.parent_id) else found


def _named(parent_id: str) -> bool:
    return bool(parent_id.strip("0"))


def _loops(nodes: list[Node]) -> list[Node]:
    """The members of loops, without what hangs below them: each node is visited at most twice."""
    done: set[Node] = set()
    found: list[Node] = []
    for start in nodes:
        path: dict[Node, None] = {}
        node: Node | None = start
        while node is not None and node not in done and node not in path:
            path[node] = None
            node = node.parent
        if node is not None and node in path:
            members = list(path)
            found.extend(members[members.index(node) :])
        done.update(path)
    return found
