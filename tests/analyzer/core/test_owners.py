"""The fast partition gives what the definition gives."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from tests.analyzer.core.forests import odd, plain

from spanwise_analyzer.owners import partition
from spanwise_analyzer.timeline.order import normalise
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Span


def defined(node: Node, start: int, end: int) -> Iterator[tuple[int, int, Node]]:
    """The definition, word for word: chain of last finishers, holes to who still runs, the rest to the node."""
    children = [c for c in node.children if max(start, c.eff_start_ns) < min(end, c.eff_end_ns)]
    waiting = sorted(children, key=lambda c: (-c.eff_end_ns, c.eff_start_ns, c.key))
    running: list[Node] = []
    now = end
    while now > start:
        running += [c for c in waiting if c.eff_end_ns > now]
        waiting = [c for c in waiting if c.eff_end_ns <= now]
        finished = max(waiting[0].eff_end_ns, start) if waiting else start
        if finished < now:
            first = min(running, key=lambda c: c.eff_start_ns, default=None)
            since = now if first is None else min(now, max(first.eff_start_ns, finished))
            if first is not None and since < now:
                yield from defined(first, since, now)
            if finished < since:
                yield finished, since, node
            now = finished
        else:
            child = waiting.pop(0)
            since = max(child.eff_start_ns, start)
            yield from defined(child, since, now)
            now = since


def by_definition(spans: list[Span]) -> dict[int, str]:
    """The owner's span id at every ns; the definition never names a span that is not open."""
    tree, _ = normalise("c", spans)
    pieces = defined(tree.root, tree.root.eff_start_ns, tree.root.eff_end_ns)
    return {now: node.key[1] for start, end, node in pieces for now in range(start, end)}


def fast(spans: list[Span]) -> dict[int, str]:
    tree, _ = normalise("c", spans)
    pieces = partition(tree)
    return {now: node.key[1] if node else "" for start, end, node in pieces for now in range(start, end)}


@settings(max_examples=200)
@given(plain(size=16))
def test_the_partition_is_the_defined_one(spans: list[Span]) -> None:
    assert by_definition(spans) == fast(spans)


@given(odd())
def test_the_partition_is_the_defined_one_for_odd_spans(spans: list[Span]) -> None:
    assert by_definition(spans) == fast(spans)
