"""Step: list the blocking children of each span and how far they reach together."""

from __future__ import annotations

from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node, Tree


def tree(forest: Forest) -> Tree:
    """The finished tree; the virtual root spans the whole window (0 to 0 when nothing blocks)."""
    nodes = [node for node in forest.top_down() if not node.background]
    for node in nodes:
        node.eff_start_ns, node.eff_end_ns = node.start_ns, node.end_ns
        if node.parent is not None:
            node.parent.children.append(node)
    for node in reversed(nodes):
        _reach(node)
    _span(forest.root)
    background = [node for node in forest.nodes.values() if node.background]
    return Tree(forest.root, forest.nodes, background)


def _reach(node: Node) -> None:
    parent = node.parent
    if parent is not None and parent.span is not None:
        parent.eff_start_ns = min(parent.eff_start_ns, node.eff_start_ns)
        parent.eff_end_ns = max(parent.eff_end_ns, node.eff_end_ns)


def _span(root: Node) -> None:
    root.eff_start_ns = root.start_ns = min((node.eff_start_ns for node in root.children), default=0)
    root.eff_end_ns = root.end_ns = max((node.eff_end_ns for node in root.children), default=0)
