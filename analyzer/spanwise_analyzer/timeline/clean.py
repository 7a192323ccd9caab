"""Step: every span once, none with a negative duration."""

from __future__ import annotations

from collections.abc import Iterable

from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.role import role
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Span, SpanKey


def forest(spans: Iterable[Span]) -> Forest:
    """All spans as roots; of several copies of one span the fullest stays."""
    kept: dict[SpanKey, Span] = {}
    for span in spans:
        other = kept.get(span.key)
        kept[span.key] = span if other is None or _fullness(span) > _fullness(other) else other
    root = Node(None, 0, 0)
    nodes = sorted(
        (_node(span, root) for span in kept.values()), key=lambda node: (node.start_ns, node.end_ns, node.key)
    )
    found = Forest({node.key: node for node in nodes}, root)
    for node in nodes:
        if 0 < node.record.end_ns < node.record.start_ns:
            found.note(node, Oddity.END_BEFORE_START)
    return found


def _node(span: Span, root: Node) -> Node:
    return Node(span, span.start_ns, max(span.start_ns, span.end_ns), root, role=role(span))


def _fullness(span: Span) -> tuple[int, int, int, str]:
    """An unfinished copy has end 0 and loses; the text only makes the choice independent of arrival."""
    return span.end_ns, -span.start_ns, len(span.attributes), repr(sorted(span.attributes.items(), key=repr))
