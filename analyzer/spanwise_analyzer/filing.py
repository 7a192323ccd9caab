"""What the store keeps of a computed conversation: the answer, the list's columns and the segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spanwise_analyzer import answer
from spanwise_analyzer.dimension import NONE, Dimensions, dimensions
from spanwise_analyzer.ledger import Ledger, Segment
from spanwise_collector.span import SpanKey
from spanwise_collector.store import LedgerRow, SegmentRow


def row(ledger: Ledger, document: bytes, *, seq: int, recommendation: str | None) -> LedgerRow:
    """The stored form; ``document`` is the API's answer and holds for all batches up to ``seq``."""
    pole = ledger.dominant
    names = dimensions(ledger.tree)
    return LedgerRow(
        conversation_id=ledger.conversation_id,
        seq=seq,
        service=ledger.service,
        agent=answer.agent(ledger),
        started_ns=ledger.start_ns,
        ended_ns=ledger.end_ns,
        active_ns=ledger.active_ns,
        turns=len(ledger.turns),
        status=ledger.status,
        dominant_stage=pole.stage if pole else None,
        dominant_ns=pole.ns if pole else 0,
        recommendation=recommendation,
        models=_distinct(found.model for found in names.values()),
        tools=_distinct(found.tool for found in names.values()),
        servers=_distinct(found.server for found in names.values()),
        answer=document,
        segments=[_segment(segment, names) for segment in ledger.segments],
    )


def _segment(segment: Segment, names: Mapping[SpanKey, Dimensions]) -> SegmentRow:
    trace_id, span_id = key = segment.span.key if segment.span else ("", "")
    of = names.get(key, NONE)
    return SegmentRow(
        turn=segment.turn,
        trace_id=trace_id,
        span_id=span_id,
        stage=segment.stage,
        start_ns=segment.start_ns,
        end_ns=segment.end_ns,
        model=of.model,
        tool=of.tool,
        server=of.server,
        agent=of.agent,
        service=segment.span.service if segment.span else None,
    )


def _distinct(found: Iterable[str | None]) -> list[str]:
    return sorted({name for name in found if name})
