"""What a change would save: the conversation's schedule run again on the normalised tree.

Savings of two changes must not be added; replay both together instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from spanwise_analyzer.schedule import Factor, Line, Past, scaled
from spanwise_analyzer.tree import Node, Tree
from spanwise_analyzer.waits import waited_for
from spanwise_collector.span import SpanKey


@dataclass(frozen=True, slots=True)
class Change:
    """What is different in the run to be replayed.

    ``scale``: factor (0 or more) on a span's own time. ``remove``: spans that take no time, with everything below them.
    ``together``: sets of siblings that start when the first of them does, at most ``cap`` at a time.
    """

    scale: Mapping[SpanKey, Factor] = field(default_factory=dict)
    remove: frozenset[SpanKey] = frozenset()
    together: Sequence[frozenset[SpanKey]] = ()
    cap: int | None = None


def saving_ns(tree: Tree, change: Change) -> int:
    """By how many ns the whole conversation gets shorter; negative if longer. Unknown and background keys do nothing.

    Everything that ended before a span started is taken for its condition, unless the span names what it waits for: the
    replay rather understates a saving.
    """
    return _Replay(tree, change).saving_ns()


def drag_ns(tree: Tree, keys: Iterable[SpanKey]) -> int:
    """What vanishes with the own time of these spans: at least 0, at most the time that they own, in ns."""
    return saving_ns(tree, Change(scale=dict.fromkeys(keys, Fraction(0))))


class _Replay:
    """New durations from the leaves up: how long a span takes does not depend on when it starts."""

    def __init__(self, tree: Tree, change: Change) -> None:
        self._tree, self._cap = tree, change.cap
        self._removed = frozenset(_blocking(tree, change.remove))
        self._factors = {node: change.scale[node.key] for node in _blocking(tree, change.scale)}
        self._group = {node: number for number, keys in enumerate(change.together) for node in _blocking(tree, keys)}
        self._took: dict[Node, int] = {}

    def saving_ns(self) -> int:
        for node in self._touched():
            self._took[node] = 0 if node in self._removed else self._run(node)
        root = self._tree.root
        return root.reach_ns - self._duration(root)

    def _touched(self) -> list[Node]:
        """Changed spans and all above them, deepest first; every other span takes what it took."""
        depths: dict[Node, int] = {}
        for changed in (*self._removed, *self._factors, *self._group):
            path = [changed]
            while path[-1] not in depths and path[-1].parent is not None:
                path.append(path[-1].parent)
            depth = depths.get(path[-1], 0)
            depths.update((node, depth + place) for place, node in enumerate(reversed(path)))
        return sorted(depths, key=lambda node: -depths[node])

    def _duration(self, node: Node) -> int:
        return self._took.get(node, node.reach_ns)

    def _run(self, node: Node) -> int:
        """Place the children one after the other, each by those that had ended when it started."""
        factor = self._factors.get(node, 1)
        past = Past(node)
        lines: dict[int, Line] = {}
        for child in sorted(node.children, key=lambda child: (child.eff_start_ns, child.eff_end_ns, child.key)):
            took = self._duration(child)
            start = past.next_start(child, factor, waits_for=waited_for(self._tree, child))
            if child in self._group:
                start = lines.setdefault(self._group[child], Line(start, self._cap)).start(took)
            past.add(child, start + took)
        return past.new_end + scaled(node.eff_end_ns - past.old_end, factor)


def _blocking(tree: Tree, keys: Iterable[SpanKey]) -> Iterator[Node]:
    found = (tree.nodes.get(key) for key in keys)
    return (node for node in found if node is not None and not node.background)
