"""A group of requests as the rows that one commit appends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spanwise import semconv as sc
from spanwise_collector.dialect import OPENINFERENCE_SCOPE, TOOL_CALL
from spanwise_collector.otlp import value
from spanwise_collector.otlp.columns import flatten
from spanwise_collector.otlp.decode import Parcel
from spanwise_collector.otlp.hot import hot
from spanwise_collector.span import Kind
from spanwise_collector.store.interner import Interner

_AGENTIC: Final = sorted(
    {*sc.INFERENCE_OPERATIONS, *sc.AGENT_OPERATIONS, sc.OPERATION_EMBEDDINGS, sc.OPERATION_EXECUTE_TOOL}
)
_TOUCH: Final = """
    INSERT INTO touches
    SELECT seq, trace_id, conversation_id, min(start_ns), max(end_ns), count(*),
        bool_or(coalesce(list_contains($agentic, operation) AND NOT served, false) OR step IS NOT NULL),
        bool_or(served)
    FROM (SELECT *, coalesce(kind = $server AND mcp_method = $tool_call, false) AS served FROM batch)
    GROUP BY seq, trace_id, conversation_id
"""
_REQUESTS: Final = """
    SELECT seq, trace_id, span_id, mcp_method, mcp_session, request_id, tool, server_address, mcp_server, service,
        start_ns, end_ns
    FROM batch
    WHERE mcp_method IS NOT NULL AND request_id IS NOT NULL AND kind = $kind
"""
_CLIENTS: Final = f"INSERT INTO mcp_clients {_REQUESTS}"
_SERVERS: Final = f"INSERT INTO mcp_servers {_REQUESTS} AND octet_length(parent_id) = 0"


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
        self._index(batch)

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

    def _index(self, batch: pa.Table) -> None:
        if not len(batch):
            return
        narrow = batch.drop_columns(["attributes", "events", "links"])
        self._cursor.register("batch", narrow)
        self._cursor.execute(_TOUCH, {"agentic": _AGENTIC, "server": int(Kind.SERVER), "tool_call": TOOL_CALL})
        self._cursor.execute(_CLIENTS, {"kind": int(Kind.CLIENT)})
        self._cursor.execute(_SERVERS, {"kind": int(Kind.SERVER)})
