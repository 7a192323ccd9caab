"""What retention does to the tables, one bounded step at a time; each runs within a transaction of the writer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import duckdb
import pyarrow as pa

from spanwise_collector.store import hours
from spanwise_collector.store.ledgers import Range

_TABLES: Final = ("spans", "touches", "mcp_clients", "mcp_servers")
_THESE: Final = "NOT frozen AND id BETWEEN $first AND $last AND list_contains($ids, id)"
_THAWED: Final = f"SELECT count(*) FROM ledgers WHERE {_THESE}"  # noqa: S608  # constants
_OLD: Final = "frozen AND (seq < $seq OR started_ns < $started_ns)"


def prepare(cursor: duckdb.DuckDBPyConnection) -> None:
    """Let checkpoints free what is wholly empty and rewrite nothing: that blocks writing for seconds."""
    cursor.execute("SET GLOBAL max_vacuum_tasks = 0")


def freeze(cursor: duckdb.DuckDBPyConnection, ledgers: Sequence[int], hourly: pa.Table) -> None:
    """Keep these answers as they are, whatever becomes of their spans; their segments become ``hourly``.

    Nothing happens where one of them was replaced meanwhile: it has another number, and the hours are not its own.
    """
    found = {"ids": ledgers, "first": min(ledgers), "last": max(ledgers)}
    if cursor.execute(_THAWED, found).fetchall() != [(len(ledgers),)]:
        return
    hours.add(cursor, hourly)
    cursor.execute("DELETE FROM segments WHERE ledger BETWEEN $first AND $last AND list_contains($ids, ledger)", found)
    cursor.execute(f"UPDATE ledgers SET frozen = true WHERE {_THESE}", found)  # noqa: S608  # constants


def drop(cursor: duckdb.DuckDBPyConnection, old: Range) -> None:
    """Delete whole batches with everything that was noted of them; resources and scopes stay, there are few."""
    bounds = {"first": old.first, "last": old.last}
    for table in _TABLES:
        cursor.execute(f"DELETE FROM {table} WHERE seq BETWEEN $first AND $last", bounds)  # noqa: S608  # as above
    # The newest batch leaves its row behind: numbers go on from there.
    within = "seq BETWEEN $first AND $last"
    cursor.execute(f"DELETE FROM batches WHERE {within} AND seq < (SELECT max(seq) FROM batches)", bounds)  # noqa: S608
    cursor.execute(f"UPDATE batches SET spans = 0 WHERE {within}", bounds)  # noqa: S608


def forget_answers(cursor: duckdb.DuckDBPyConnection, *, before_seq: int = 0, started_before_ns: int = 0) -> None:
    """Delete frozen answers that were computed before a batch, or whose conversations started before a time."""
    cursor.execute(f"DELETE FROM ledgers WHERE {_OLD}", {"seq": before_seq, "started_ns": started_before_ns})  # noqa: S608


def forget_hours(cursor: duckdb.DuckDBPyConnection, before_ns: int) -> None:
    """Delete hours that ended before this time."""
    cursor.execute("DELETE FROM hours WHERE hour < $hour", {"hour": before_ns // hours.HOUR_NS})
