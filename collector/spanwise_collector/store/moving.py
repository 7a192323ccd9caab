"""Spans that were delivered under one conversation id and then under another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spanwise import semconv as sc
from spanwise_collector.span import Span
from spanwise_collector.store.listing import Query

_FIRM: Final = """
    SELECT DISTINCT trace_id FROM (
        SELECT trace_id FROM spans
        WHERE list_contains($traces, trace_id) AND conversation_id IS NOT NULL
            AND seq IN (SELECT seq FROM touches WHERE list_contains($traces, trace_id))
        GROUP BY trace_id, span_id
        HAVING bool_or(conversation_id = $id) AND count(DISTINCT conversation_id) = 1
    )
"""


def superseded(rows: Query, conversation_id: str, spans: Sequence[Span]) -> set[str]:
    """Traces of these spans, each once, that held the id only in copies which others have replaced."""
    named = {each.trace_id for each in spans if each.text(sc.GEN_AI_CONVERSATION_ID) == conversation_id}
    doubtful = {each.trace_id for each in spans} - named - {conversation_id}
    if not doubtful:
        return set()
    # An id that is no text is not found above; of a span with only one id there is nothing to decide.
    values = {"traces": [bytes.fromhex(trace) for trace in doubtful], "id": conversation_id}
    return doubtful - {row[0].hex() for row in rows(_FIRM, values)}
