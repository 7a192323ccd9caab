"""Spans that were delivered under one conversation id and then under another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from spanwise import semconv as sc
from spanwise_collector.span import Span
from spanwise_collector.store.listing import Query
from spanwise_collector.store.rows import once

_FIRM: Final = """
    SELECT DISTINCT trace_id FROM (
        SELECT trace_id FROM spans
        WHERE list_contains($traces, trace_id) AND conversation_id IS NOT NULL
            AND seq IN (SELECT seq FROM touches WHERE list_contains($traces, trace_id))
        GROUP BY trace_id, span_id
        HAVING bool_or(conversation_id = $id) AND count(DISTINCT conversation_id) = 1
    )
"""


def superseded(rows: Query, conversation_id: str, traces: Mapping[bytes, Sequence[Span]]) -> set[bytes]:
    """Traces, given with all copies of their spans, that held the id only in copies which others have replaced."""
    doubtful = [trace for trace, copies in traces.items() if _doubtful(conversation_id, trace, copies)]
    if not doubtful:
        return set()
    # An id that is no text is not seen here; of a span that was delivered under one id there is nothing to decide.
    values = {"traces": doubtful, "id": conversation_id}
    return set(doubtful).difference(row[0] for row in rows(_FIRM, values))


def _doubtful(conversation_id: str, trace: bytes, copies: Sequence[Span]) -> bool:
    if trace.hex() == conversation_id or not {_named(each) for each in copies} - {None, conversation_id}:
        return False
    return all(_named(each) != conversation_id for each in once(copies))


def _named(span: Span) -> str | None:
    return span.text(sc.GEN_AI_CONVERSATION_ID)
