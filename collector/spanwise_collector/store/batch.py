"""Rows of one commit: what was made of its requests, with the numbers that tie them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from spanwise_collector.store.interner import Interner
from spanwise_collector.store.rowset import Rowset


@dataclass(slots=True)
class _Source:
    """What the engine reads under one fixed name: to name every table anew takes as long as a small insert."""

    rows: pa.Table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.rows.__arrow_c_stream__(requested_schema)


class Rows:
    """Appends rows; used by the writer thread only."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self._resources = Interner()
        self._scopes = Interner()
        self._sources: dict[str, _Source] = {}
        self._resources.load(cursor, "resources")
        self._scopes.load(cursor, "scopes")

    def append(self, rowsets: Sequence[Rowset], *, seq: int, arrived_ns: int) -> int:
        """Insert one batch in the open transaction and count its spans; call ``keep`` or ``forget`` afterwards."""
        spans = pa.concat_tables(map(self._identified, rowsets))
        self._insert("resources", self._resources.fresh())
        self._insert("scopes", self._scopes.fresh())
        self._cursor.execute("INSERT INTO batches VALUES (?, ?, ?)", [seq, arrived_ns, len(spans)])
        self._insert("spans", _numbered(spans, seq))
        self._insert("touches", _joined((rows.touches for rows in rowsets), seq))
        self._insert("mcp_clients", _joined((rows.clients for rows in rowsets), seq))
        self._insert("mcp_servers", _joined((rows.servers for rows in rowsets), seq))
        return len(spans)

    def keep(self) -> None:
        """The batch is committed."""
        self._resources.keep()
        self._scopes.keep()

    def forget(self) -> None:
        """The batch was rolled back, and with it what was named in its transaction."""
        self._sources.clear()
        self._resources.forget()
        self._scopes.forget()

    def _identified(self, rows: Rowset) -> pa.Table:
        resources = self._resources.ids(rows.resources)[rows.resource_of]
        scopes = self._scopes.ids(rows.scopes)[rows.scope_of]
        return rows.spans.append_column("resource_id", pa.array(resources)).append_column("scope_id", pa.array(scopes))

    def _insert(self, table: str, rows: pa.Table) -> None:
        if not len(rows):
            return
        name = f"new_{table}"
        if table not in self._sources:
            self._sources[table] = _Source(rows)
            self._cursor.register(name, self._sources[table])
        self._sources[table].rows = rows
        self._cursor.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {name}")  # noqa: S608


def _joined(tables: Iterable[pa.Table], seq: int) -> pa.Table:
    return _numbered(pa.concat_tables(tables), seq)


def _numbered(rows: pa.Table, seq: int) -> pa.Table:
    return rows.append_column("seq", pa.array(np.full(len(rows), seq, dtype=np.int64)))
