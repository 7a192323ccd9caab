"""A cursor for each reading thread: two threads on one connection get each other's rows."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from spanwise_collector.store import opening

Row: TypeAlias = tuple[Any, ...]


class Cursors:
    """Runs queries on the calling thread's own cursor, and lets the connection below them be replaced."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, alarm: Callable[[Exception], None]) -> None:
        self._connection = connection
        self._alarm = alarm
        self._open()
        self._reading = 0
        self._replacing = False
        self._changed = threading.Condition()

    def rows(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
        """All rows of a query; its values go in as named parameters only. Raises what ``alarm`` makes of errors."""
        with self._reads():
            return self._cursor().execute(sql, dict(parameters or {})).fetchall()

    @contextmanager
    def fresh(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor that nobody else has, for the length of the block; the connection stays as long."""
        with self._reads(), opening.cursor(self._connection) as cursor:
            yield cursor

    def replace(self, reopen: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        """Close everything, once no query runs, and read from a new connection; queries wait meanwhile."""
        with self._changed:
            self._replacing = True
            self._changed.wait_for(lambda: not self._reading)
        try:
            self.close()
            self._connection.close()
            self._connection = reopen()
            self._open()
        finally:
            with self._changed:
                self._replacing = False
                self._changed.notify_all()

    def table(self, sql: str, parameters: Mapping[str, object] | None = None) -> pa.Table:
        """As ``rows``, in columns."""
        with self._reads():
            return self._cursor().sql(sql, params=dict(parameters or {})).to_arrow_table()

    def close(self) -> None:
        """Close what every thread reads by: the engine's own threads live as long as any cursor is open."""
        for cursor in list(self._opened):
            cursor.close()

    @contextmanager
    def _reads(self) -> Iterator[None]:
        """While this lasts, the connection is not replaced."""
        with self._changed:
            self._changed.wait_for(lambda: not self._replacing)
            self._reading += 1
        try:
            yield
        except duckdb.Error as error:
            self._alarm(error)
            raise
        finally:
            with self._changed:
                self._reading -= 1
                self._changed.notify_all()

    def _open(self) -> None:
        self._local = threading.local()
        self._opened: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        cursor: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = opening.cursor(self._connection)
            self._opened.add(cursor)
        return cursor
