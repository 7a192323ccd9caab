"""How a conversation ran: its segments in order and the spans behind them."""

from __future__ import annotations

from spanwise_analyzer.ledger import Ledger, Segment
from spanwise_analyzer.lineage import depths
from spanwise_analyzer.moment import rfc3339
from spanwise_analyzer.shapes import SegmentShape, SpanShape, Timeline, ms
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Status


def timeline(ledger: Ledger) -> Timeline:
    """The timeline of the API; its segments tile the conversation from start to end."""
    nodes = [*ledger.tree.blocking(), *ledger.tree.background]
    depth = depths(ledger.tree)
    return Timeline(
        conversation_id=ledger.conversation_id,
        started_at=rfc3339(ledger.start_ns),
        duration_ms=ms(ledger.end_ns - ledger.start_ns),
        segments=[_segment(ledger, segment) for segment in ledger.segments],
        spans=[shape for node in nodes if (shape := _span(ledger, node, depth=depth.get(node, 0)))],
    )


def _segment(ledger: Ledger, segment: Segment) -> SegmentShape:
    span = segment.span
    return SegmentShape(
        start_ms=ms(segment.start_ns - ledger.start_ns),
        end_ms=ms(segment.end_ns - ledger.start_ns),
        stage=segment.stage,
        group=segment.stage.group,
        was=segment.was,
        turn=segment.turn,
        trace_id=span.trace_id if span else None,
        span_id=span.span_id if span else None,
        name=span.name if span else None,
        service=span.service if span else None,
        # The owner of an instant is by construction the span that the conversation waits for.
        critical=segment.stage.active,
    )


def _span(ledger: Ledger, node: Node, *, depth: int) -> SpanShape | None:
    span = node.span
    if span is None:
        return None
    return SpanShape(
        start_ms=ms(node.start_ns - ledger.start_ns),
        end_ms=ms(node.end_ns - ledger.start_ns),
        depth=depth,
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_id or None,
        name=span.name,
        service=span.service,
        owned_ms=ms(ledger.owned.get(span.key, 0)),
        error=span.status is Status.ERROR,
        background=node.background,
    )
