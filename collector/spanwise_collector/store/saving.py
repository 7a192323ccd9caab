"""Writes ledgers: a newer account of a conversation replaces the older one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final

import duckdb
import pyarrow as pa

from spanwise_collector.store.join import joined
from spanwise_collector.store.ledgers import LedgerRow, SegmentRow

_TEXTS: Final = pa.list_(pa.string())
_LEDGER: Final = pa.schema(
    [
        ("id", pa.int64()),
        ("conversation_id", pa.string()),
        ("trace_id", pa.binary()),
        ("seq", pa.int64()),
        ("service", pa.string()),
        ("agent", pa.string()),
        ("started_ns", pa.int64()),
        ("ended_ns", pa.int64()),
        ("active_ns", pa.int64()),
        ("turns", pa.int32()),
        ("status", pa.string()),
        ("dominant_stage", pa.string()),
        ("dominant_ns", pa.int64()),
        ("recommendation", pa.string()),
        ("models", _TEXTS),
        ("tools", _TEXTS),
        ("servers", _TEXTS),
        ("answer", pa.binary()),
    ]
)
_SEGMENT: Final = pa.schema(
    [
        ("ledger", pa.int64()),
        ("turn", pa.int32()),
        ("trace_id", pa.string()),
        ("span_id", pa.string()),
        ("stage", pa.string()),
        ("start_ns", pa.int64()),
        ("ns", pa.int64()),
        ("model", pa.string()),
        ("tool", pa.string()),
        ("server", pa.string()),
        ("agent", pa.string()),
        ("service", pa.string()),
    ]
)
_LIMIT: Final = 2**63 - 1
_INT32: Final = 2**31 - 1
_TRACE_ID: Final = re.compile(r"[0-9a-f]{32}")
_STORED: Final = "SELECT conversation_id, seq, frozen FROM ledgers WHERE list_contains($ids, conversation_id)"
_NAMED: Final = """
    SELECT DISTINCT lower(hex(trace_id)) FROM touches
    WHERE list_contains($traces, trace_id) AND conversation_id IS NOT NULL
"""
_TRACED: Final = "SELECT count(trace_id) FROM ledgers"
_RETIRE: Final = f"""
    DELETE FROM ledgers WHERE NOT frozen AND trace_id IN (
        SELECT trace_id FROM touches WHERE seq > $after AND seq <= $upto AND conversation_id IS NOT NULL
        UNION ALL
        SELECT server_trace FROM ({joined("server.seq")})
        UNION ALL
        SELECT server_trace FROM ({joined("client.seq")})
    ) RETURNING id
"""  # noqa: S608  # every part is a constant


def save(cursor: duckdb.DuckDBPyConnection, rows: Iterable[LedgerRow]) -> None:
    """Replace the ledgers of these conversations unless the stored one is newer or frozen; within a transaction."""
    newest = {row.conversation_id: row for row in sorted(rows, key=lambda row: row.seq)}
    for name in {*_overtaken(cursor, newest), *_named(cursor, newest)}:
        del newest[name]
    if not newest:
        return
    _delete(cursor, list(newest))
    first = cursor.execute("SELECT coalesce(max(id), 0) + 1 FROM ledgers").fetchall()[0][0]
    numbered = list(enumerate(newest.values(), start=first))
    _insert(cursor, "ledgers", pa.Table.from_pylist([_ledger(*each) for each in numbered], _LEDGER))
    segments = [_segment(number, segment) for number, row in numbered for segment in row.segments]
    _insert(cursor, "segments", pa.Table.from_pylist(segments, _SEGMENT))


def forget(cursor: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    """Remove the accounts of these conversations unless they are frozen; within a transaction."""
    sql = "DELETE FROM ledgers WHERE NOT frozen AND list_contains($names, conversation_id) RETURNING id"
    ids = [row[0] for row in cursor.execute(sql, {"names": list(names)}).fetchall()]
    if ids:
        cursor.execute("DELETE FROM segments WHERE list_contains($ids, ledger)", {"ids": ids})


def retire(cursor: duckdb.DuckDBPyConnection, *, after: int, upto: int) -> None:
    """Remove ledgers under a trace id whose spans turned out, by these batches, to belong to a named conversation."""
    if not cursor.execute(_TRACED).fetchall()[0][0]:
        return
    ids = cursor.execute(_RETIRE, {"after": after, "upto": upto}).fetchall()
    if ids:
        cursor.execute("DELETE FROM segments WHERE list_contains($ids, ledger)", {"ids": [row[0] for row in ids]})


def _overtaken(cursor: duckdb.DuckDBPyConnection, newest: dict[str, LedgerRow]) -> list[str]:
    stored = cursor.execute(_STORED, {"ids": list(newest)}).fetchall()
    return [name for name, seq, frozen in stored if frozen or seq > newest[name].seq]


def _named(cursor: duckdb.DuckDBPyConnection, newest: dict[str, LedgerRow]) -> list[str]:
    """Trace ids among these whose trace has a conversation id meanwhile."""
    traces = [trace for trace in map(_trace, newest) if trace]
    if not traces:
        return []
    return [row[0] for row in cursor.execute(_NAMED, {"traces": traces}).fetchall() if row[0] in newest]


def _delete(cursor: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    stale = "SELECT id FROM ledgers WHERE list_contains($names, conversation_id)"
    ids = [row[0] for row in cursor.execute(stale, {"names": names}).fetchall()]
    if ids:
        bounds = {"first": min(ids), "ids": ids}
        cursor.execute("DELETE FROM segments WHERE ledger >= $first AND list_contains($ids, ledger)", bounds)
        cursor.execute("DELETE FROM ledgers WHERE id >= $first AND list_contains($ids, id)", bounds)


def _insert(cursor: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    if len(rows):
        cursor.register("batch", rows)
        cursor.execute(f"INSERT INTO {table} BY NAME SELECT * FROM batch")  # noqa: S608


def _ledger(number: int, row: LedgerRow) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in _LEDGER.names if name not in ("id", "trace_id")}
    values |= {name: list(values[name]) for name in ("models", "tools", "servers")}
    values |= {name: _fit(values[name]) for name in ("started_ns", "ended_ns", "active_ns", "dominant_ns")}
    return {"id": number, "trace_id": _trace(row.conversation_id), **values, "turns": min(row.turns, _INT32)}


def _trace(conversation_id: str) -> bytes | None:
    return bytes.fromhex(conversation_id) if _TRACE_ID.fullmatch(conversation_id) else None


def _segment(ledger: int, row: SegmentRow) -> dict[str, Any]:
    values = asdict(row)
    end = values.pop("end_ns")
    times = {"start_ns": _fit(row.start_ns), "ns": _fit(end - row.start_ns)}
    return {**values, "ledger": ledger, "turn": _turn(row.turn), **times}


def _turn(turn: int | None) -> int | None:
    """Senders number turns as they like; no conversation has a turn of such a number, so it counts as none."""
    return turn if turn is not None and -_INT32 <= turn <= _INT32 else None


def _fit(ns: int) -> int:
    """Senders may claim times beyond the year 2262; those few are cut here, in the cache, not in the spans."""
    return max(-_LIMIT, min(_LIMIT, ns))
