"""Step: a span that runs wholly outside its parent goes up to the nearest ancestor that it touches."""

from __future__ import annotations

from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node


def lift(forest: Forest) -> None:
    """Lift late and early work, ancestors first; nothing is deleted, and every subtree stays one connected piece."""
    for node in list(forest.top_down()):
        parent = node.parent
        while parent is not None and parent.span is not None and not _touches(node, parent):
            parent = parent.parent
        if parent is not node.parent and not node.background:
            node.parent = parent
            forest.note(node, Oddity.OUTSIDE_PARENT)


def _touches(node: Node, parent: Node) -> bool:
    """Whether it starts inside its parent or runs across the parent's start."""
    if node.start_ns < parent.start_ns:
        return node.end_ns > parent.start_ns
    return node.start_ns < parent.end_ns or node.start_ns == parent.start_ns
