"""The normalised span tree of one conversation: one clock, sound parents, nothing deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spanwise_analyzer.role import Role
from spanwise_collector.span import Span, SpanKey


@dataclass(slots=True, eq=False)
class Node:
    """One span in the tree; the virtual root has no span.

    ``start_ns``/``end_ns`` are cleaned and skew-corrected, ``eff_*`` also span all blocking descendants. ``flags`` are
    ``Oddity`` codes.
    """

    span: Span | None
    start_ns: int
    end_ns: int
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)  # blocking ones only
    eff_start_ns: int = 0
    eff_end_ns: int = 0
    background: bool = False
    flags: set[str] = field(default_factory=set)
    role: Role = Role.UNKNOWN

    @property
    def key(self) -> SpanKey:
        """The span's key; the virtual root has an empty one."""
        return self.span.key if self.span else ("", "")

    @property
    def record(self) -> Span:
        """The span; ValueError on the virtual root."""
        if self.span is None:
            raise ValueError("the virtual root has no span")
        return self.span

    @property
    def top(self) -> bool:
        """Whether nothing but the virtual root is above."""
        return self.parent is None or self.parent.span is None

    @property
    def ns(self) -> int:
        """Own duration in ns."""
        return self.end_ns - self.start_ns

    @property
    def reach_ns(self) -> int:
        """Time from the first start to the last end of it and all blocking spans below it."""
        return self.eff_end_ns - self.eff_start_ns

    def ancestors(self) -> Iterator[Node]:
        """Parent, grandparent and so on; the virtual root is left out."""
        node = self.parent
        while node is not None and node.span is not None:
            yield node
            node = node.parent

    def walk(self) -> Iterator[Node]:
        """This node and its blocking descendants, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Virtual root over the turns, every span by key (background ones included), and the background list."""

    root: Node
    nodes: Mapping[SpanKey, Node]
    background: Sequence[Node] = ()

    def blocking(self) -> list[Node]:
        """All blocking nodes with a span, ordered by start, end, key."""
        found = (node for node in self.root.walk() if node.span is not None)
        return sorted(found, key=lambda node: (node.start_ns, node.end_ns, node.key))
