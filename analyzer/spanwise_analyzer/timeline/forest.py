"""The spans of one conversation while they are being put in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from spanwise_analyzer.ledger import Problem
from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.tree import Node
from spanwise_collector.span import SpanKey


@dataclass(slots=True)
class Forest:
    """All nodes by key, in order of (start, end, key), linked by ``Node.parent`` only; roots hang below ``root``.

    ``Node.children`` stay empty until the last step: links change often, and lists would have to follow.
    """

    nodes: dict[SpanKey, Node]
    root: Node
    problems: list[Problem] = field(default_factory=list)
    orphans: set[Node] = field(default_factory=set)  # name a parent that never arrived

    def note(self, node: Node, oddity: Oddity, *, detail: str = "") -> None:
        """Flag a node and tell people why."""
        if oddity not in node.flags:
            node.flags.add(oddity)
            self.problems.append(Problem(oddity.value, oddity.text + detail, node.key))

    def blocking(self) -> list[Node]:
        """The nodes that something waits for, in order."""
        return [node for node in self.nodes.values() if not node.background]

    def children(self) -> dict[Node, list[Node]]:
        """All children by parent, background ones too, in order; a snapshot."""
        found: dict[Node, list[Node]] = {}
        for node in self.nodes.values():
            if node.parent is not None:
                found.setdefault(node.parent, []).append(node)
        return found

    def top_down(self) -> Iterator[Node]:
        """Every node after its parent; the root is left out."""
        return below([self.root], self.children())


def below(nodes: Iterable[Node], children: dict[Node, list[Node]]) -> Iterator[Node]:
    """All descendants of the nodes, each after its parent; without recursion, since chains can be very deep."""
    queue = deque(nodes)
    while queue:
        found = children.get(queue.popleft(), ())
        yield from found
        queue.extend(found)


def by_trace(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """The nodes of each trace, in the given order."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(node.key[0], []).append(node)
    return found
