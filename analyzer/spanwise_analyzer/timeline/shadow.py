"""Step: work that a wrapper span hides beside itself, instead of holding it, goes below that wrapper.

Some frameworks trace a task and the model call it makes as siblings; a walk by last finisher would see only the task.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.role import Role, declared
from spanwise_analyzer.timeline.containers import shortest
from spanwise_analyzer.timeline.forest import Forest, by_trace
from spanwise_analyzer.tree import Node

_TOLD = (Role.AGENT, Role.INFERENCE)


def nest(forest: Forest) -> None:
    """Put agent and model work below the shortest childless wrapper around it that hangs below the same parent."""
    order = _Preorder(forest)
    wrappers = by_trace(node for node in order.nodes if order.size[node] == 1 and _says_nothing(node))
    for (parent, trace), hidden in _hidden(forest, order).items():
        around = order.within(parent, wrappers.get(trace, []))
        found = shortest(around, hidden, family=order.branches(parent), depth=order.at.__getitem__, strict=False)
        for node in hidden:
            if node in found and node not in found[node].ancestors():
                node.parent = found[node]
                forest.note(node, Oddity.SHADOWED)


class _Preorder:
    """Blocking nodes so that each subtree is one slice."""

    def __init__(self, forest: Forest) -> None:
        self._children = {
            parent: [node for node in found if not node.background] for parent, found in forest.children().items()
        }
        self._branches: dict[Node, _Branches] = {}
        self.nodes: list[Node] = []
        stack = [forest.root]
        while stack:
            node = stack.pop()
            self.nodes.append(node)
            stack.extend(reversed(self._children.get(node, ())))
        self.at = {node: place for place, node in enumerate(self.nodes)}
        self.size = dict.fromkeys(self.nodes, 1)
        for node in reversed(self.nodes):
            if node.parent is not None:
                self.size[node.parent] += self.size[node]

    def within(self, parent: Node, nodes: list[Node]) -> list[Node]:
        """Those of some ordered nodes that lie below the parent."""
        first = self.at[parent]
        low = bisect_left(nodes, first + 1, key=self.at.__getitem__)
        return nodes[low : bisect_left(nodes, first + self.size[parent], key=self.at.__getitem__)]

    def branches(self, parent: Node) -> _Branches:
        """A function from a descendant to the child of the parent above it, by place."""
        if parent not in self._branches:
            self._branches[parent] = _Branches(self.at, [self.at[node] for node in self._children[parent]])
        return self._branches[parent]


class _Branches:
    def __init__(self, at: dict[Node, int], places: list[int]) -> None:
        self._at, self._places = at, places

    def __call__(self, node: Node) -> int:
        return bisect_right(self._places, self._at[node])


def _says_nothing(node: Node) -> bool:
    if node.span is None or declared(node.record) is not None:
        return False
    return node.role in (Role.UNKNOWN, Role.TOOL)


def _hidden(forest: Forest, order: _Preorder) -> dict[tuple[Node, str], list[Node]]:
    """Nodes that are or hold agent or model work, by parent and trace."""
    told = _holding(order.nodes)
    found: dict[tuple[Node, str], list[Node]] = {}
    for node in forest.blocking():
        if node in told and node.parent is not None:
            found.setdefault((node.parent, node.key[0]), []).append(node)
    return found


def _holding(nodes: Iterable[Node]) -> set[Node]:
    found: set[Node] = set()
    for node in reversed(list(nodes)):
        if (node in found or node.role in _TOLD) and node.parent is not None:
            found.update((node, node.parent))
    return found
