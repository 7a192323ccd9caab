"""A group of requests as the rows that one commit appends."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spanwise_collector.dialect import OPENINFERENCE_SCOPE
from spanwise_collector.otlp import value
from spanwise_collector.otlp.columns import flatten
from spanwise_collector.otlp.decode import Parcel
from spanwise_collector.otlp.hot import hot
from spanwise_collector.store import index
from spanwise_collector.store.interner import Interner


class Rows:
    """Turns parcels into rows and appends them; used by the writer thread only."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self._resources = Interner(lambda body: value.service(value.resource_attributes(body)))
        self._scopes = Interner(lambda body: value.scope(body)[0])
        self._resources.load(cursor, "resources")
        self._scopes.load(cursor, "scopes")

    def append(self, parcels: Sequence[Parcel], *, seq: int, arrived_ns: int) -> None:
        """Insert one batch in the open transaction; call ``keep`` or ``forget`` afterwards."""
        batch = self._table(parcels, seq)
        self._insert("resources", self._resources.fresh())
        self._insert("scopes", self._scopes.fresh())
        self._cursor.execute("INSERT INTO batches VALUES (?, ?, ?)", [seq, arrived_ns, len(batch)])
        self._insert("spans", batch)
        self._insert("touches", index.touches(batch))
        self._insert("mcp_clients", index.clients(batch))
        self._insert("mcp_servers", index.servers(batch))

    def keep(self) -> None:
        """The batch is committed."""
        self._resources.keep()
        self._scopes.keep()

    def forget(self) -> None:
        """The batch was rolled back."""
        self._resources.forget()
        self._scopes.forget()

    def _table(self, parcels: Sequence[Parcel], seq: int) -> pa.Table:
        flat = flatten(parcels)
        resource_ids = self._resources.ids(flat.resources)[flat.resource_of]
        scope_ids = self._scopes.ids(flat.scopes)[flat.scope_of]
        openinference = pc.starts_with(self._scopes.labels(scope_ids), OPENINFERENCE_SCOPE)
        columns = flat.columns | hot(
            flat.columns["attributes"], flat.columns["name"], openinference.to_numpy(zero_copy_only=False)
        )
        columns["seq"] = pa.array(np.full(len(scope_ids), seq, dtype=np.int64))
        columns["service"] = self._resources.labels(resource_ids)
        columns |= {"resource_id": pa.array(resource_ids), "scope_id": pa.array(scope_ids)}
        return pa.table(columns)

    def _insert(self, table: str, rows: pa.Table) -> None:
        if len(rows):
            self._cursor.register("batch", rows)
            self._cursor.execute(f"INSERT INTO {table} BY NAME SELECT * FROM batch")  # noqa: S608
