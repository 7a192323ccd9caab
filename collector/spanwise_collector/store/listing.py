"""The list of conversations out of stored ledgers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from spanwise_collector.store.cursors import Row
from spanwise_collector.store.ledgers import LedgerFilter, LedgerPage, LedgerSummary, Sort, StoredLedger

Query: TypeAlias = Callable[[str, Mapping[str, object]], list[Row]]

_SORTS: Final[dict[str, str]] = {"started": "started_ns", "active": "active_ns"}
CONDITIONS: Final = {
    "since_ns": "started_ns >= $since_ns",
    "until_ns": "started_ns < $until_ns",
    "service": "service = $service",
    "agent": "agent = $agent",
    "model": "list_contains(models, $model)",
    "tool": "list_contains(tools, $tool)",
    "server": "list_contains(servers, $server)",
    "stage": "dominant_stage = $stage",
    "status": "status = $status",
    "min_active_ns": "active_ns >= $min_active_ns",
}
_SUMMARY: Final = tuple(LedgerSummary.__slots__)


def conditions(filters: LedgerFilter, known: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """A WHERE clause and its parameters for the filters that are set and known."""
    values = {name: getattr(filters, name) for name in known if getattr(filters, name) is not None}
    return " AND ".join(["true", *(known[name] for name in values)]), values


def ledger(rows: Query, conversation_id: str) -> StoredLedger | None:
    """The stored account of one conversation."""
    found = rows(
        "SELECT conversation_id, seq, answer, frozen FROM ledgers WHERE conversation_id = $id",
        {"id": conversation_id},
    )
    return StoredLedger(*found[0]) if found else None


def ledgers_of(rows: Query, conversation_ids: Sequence[str]) -> list[StoredLedger]:
    """The stored accounts of these conversations."""
    sql = "SELECT conversation_id, seq, answer, frozen FROM ledgers WHERE conversation_id IN (SELECT unnest($ids))"
    return [StoredLedger(*row) for row in rows(sql, {"ids": list(conversation_ids)})]


def ledgers(rows: Query, filters: LedgerFilter, *, sort: Sort, limit: int, cursor: str | None) -> LedgerPage:
    """A page ordered by the sort's column, then conversation id; raises ValueError on a bad sort or cursor."""
    if sort not in _SORTS:
        raise ValueError(f"sort: {sort!r} is none of {', '.join(_SORTS)}")
    column = _SORTS[sort]
    where, values = conditions(filters, CONDITIONS)
    if cursor is not None:
        where += f" AND ({column} < $last OR ({column} = $last AND conversation_id > $last_id))"
        values["last"], values["last_id"] = _decode(cursor)
    sql = (
        f"SELECT {', '.join(_SUMMARY)} FROM ledgers WHERE {where} ORDER BY {column} DESC, conversation_id LIMIT $limit"  # noqa: S608
    )
    found = [LedgerSummary(*row) for row in rows(sql, {**values, "limit": limit + 1})]
    return LedgerPage(found[:limit], _encode(found[limit - 1], column) if limit and len(found) > limit else None)


def answers(rows: Query, filters: LedgerFilter, *, limit: int) -> list[StoredLedger]:
    """Stored answers, latest first."""
    where, values = conditions(filters, CONDITIONS)
    columns, order = "conversation_id, seq, answer, frozen", "started_ns DESC, conversation_id"
    sql = f"SELECT {columns} FROM ledgers WHERE {where} ORDER BY {order} LIMIT $limit"  # noqa: S608  # as above
    return [StoredLedger(*row) for row in rows(sql, {**values, "limit": limit})]


def _encode(last: LedgerSummary, column: str) -> str:
    position = json.dumps([getattr(last, column), last.conversation_id])
    return base64.urlsafe_b64encode(position.encode()).decode()


def _decode(cursor: str) -> tuple[int, str]:
    try:
        position = json.loads(base64.urlsafe_b64decode(cursor))
    except (ValueError, RecursionError) as error:
        raise _foreign(cursor) from error
    match position:
        case [int(number), str(name)] if type(number) is int and abs(number) < 2**63 and _storable(name):
            return number, name
    raise _foreign(cursor)


def _storable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _foreign(cursor: str) -> ValueError:
    return ValueError(f"cursor: {cursor[:64]!r} is not one of ours")
