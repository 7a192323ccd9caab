"""A cursor for each reading thread: two threads on one connection get each other's rows."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

Row: TypeAlias = tuple[Any, ...]


class Cursors:
    """Runs queries on the calling thread's own cursor."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._local = threading.local()
        self._opened: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()

    def rows(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
        """All rows of a query; its values go in as named parameters only."""
        return self._cursor().execute(sql, dict(parameters or {})).fetchall()

    def table(self, sql: str, parameters: Mapping[str, object]) -> pa.Table:
        """The same as an Arrow table."""
        return self._cursor().sql(sql, params=dict(parameters)).to_arrow_table()

    def close(self) -> None:
        """Close what every thread reads by: the engine's own threads live as long as any cursor is open."""
        for cursor in list(self._opened):
            cursor.close()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        cursor: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._connection.cursor()
            self._opened.add(cursor)
        return cursor
