"""Stored accounts of conversations and their segments as columns, some conversations at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

import pyarrow as pa

from spanwise_collector.store.cursors import Cursors
from spanwise_collector.store.ledgers import LedgerFilter
from spanwise_collector.store.listing import CONDITIONS, conditions

Account: TypeAlias = Literal["conversations", "segments"]

_AT_ONCE: Final = 500
_MOMENT: Final = pa.timestamp("ns", "UTC")
_SQL: Final[dict[Account, str]] = {
    "conversations": """
        SELECT conversation_id, service, agent, make_timestamp_ns(started_ns) AS started_at,
            make_timestamp_ns(ended_ns) AS ended_at, active_ns, turns, status, dominant_stage, dominant_ns,
            recommendation, models, tools, servers
        FROM ledgers WHERE conversation_id IN (SELECT unnest($ids::VARCHAR[]))
        ORDER BY started_ns, conversation_id
    """,
    "segments": """
        SELECT conversation_id, s.turn, s.trace_id, s.span_id, s.stage, make_timestamp_ns(s.start_ns) AS start_time,
            s.start_ns, s.ns, s.model, s.tool, s.server, s.agent, s.service
        FROM segments s JOIN ledgers l ON s.ledger = l.id
        WHERE conversation_id IN (SELECT unnest($ids::VARCHAR[]))
        ORDER BY started_ns, conversation_id, s.start_ns, s.span_id
    """,
}


def accounts(cursors: Cursors, what: Account, ids: Sequence[str] | None, filters: LedgerFilter) -> Iterator[pa.Table]:
    """The chosen conversations (``ids`` None: any), latest last; the first table is empty and has the columns.

    Each conversation is read whole and once, as it is at that moment.
    """
    yield _utc(cursors.table(_SQL[what], {"ids": []}))
    where, values = conditions(filters, CONDITIONS)
    if ids is not None:
        where, values = f"{where} AND conversation_id IN (SELECT unnest($ids::VARCHAR[]))", {**values, "ids": ids}
    sql = f"SELECT conversation_id FROM ledgers WHERE {where} ORDER BY started_ns, conversation_id"  # noqa: S608
    chosen = [row[0] for row in cursors.rows(sql, values)]
    for start in range(0, len(chosen), _AT_ONCE):
        yield _utc(cursors.table(_SQL[what], {"ids": chosen[start : start + _AT_ONCE]}))


def _utc(rows: pa.Table) -> pa.Table:
    """The engine has no timestamps of nanoseconds with a zone."""
    zoned = [field.with_type(_MOMENT) if pa.types.is_timestamp(field.type) else field for field in rows.schema]
    return rows.cast(pa.schema(zoned))
