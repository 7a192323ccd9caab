"""Who stands above whom, for all spans at once."""

from __future__ import annotations

from collections.abc import Callable, Container

from spanwise_analyzer.role import Role
from spanwise_analyzer.tree import Node, Tree


def nearest(tree: Tree, wanted: Callable[[Node], bool], *, stop: Container[Role] = ()) -> dict[Node, Node]:
    """For each blocking node the nearest wanted ancestor, unless an ancestor of a ``stop`` role comes first.

    One pass: asking every node to climb would be quadratic on deep chains.
    """
    found: dict[Node, Node] = {}
    for node in tree.root.walk():
        parent = node.parent
        if parent is None or parent.span is None:
            continue
        if wanted(parent):
            found[node] = parent
        elif parent.role not in stop and parent in found:
            found[node] = found[parent]
    return found


def depths(tree: Tree) -> dict[Node, int]:
    """How many spans stand above each span; below a background span, and for it itself, counted likewise."""
    found: dict[Node, int] = {}
    for top in (tree.root, *tree.background):
        for node in top.walk():
            above = node.parent
            found[node] = 0 if above is None or above.span is None else found.get(above, 0) + 1
    return found
