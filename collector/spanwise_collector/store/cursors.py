"""A cursor for each reading thread: two threads on one connection get each other's rows."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, TypeAlias

import duckdb

Row: TypeAlias = tuple[Any, ...]


class Cursors:
    """Runs queries on the calling thread's own cursor."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._local = threading.local()

    def rows(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
        """All rows of a query; its values go in as named parameters only."""
        return self._cursor().execute(sql, dict(parameters or {})).fetchall()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        cursor: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._connection.cursor()
        return cursor
