"""Spans for analysis: ids in hex, attributes as text, the hot attributes as typed columns.

Nothing here is meant to be read back; the OTLP formats are. Attributes are maps from key to text: scalars as they are,
arrays and maps as JSON, bytes in base64, null for no value; of a repeated key the last one counts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spanwise_collector.otlp import value
from spanwise_collector.otlp.typed import ValueType, relist
from spanwise_collector.span import Attributes
from spanwise_collector.store import Extract

_MAP: Final = pa.map_(pa.string(), pa.string())
_MOMENT: Final = pa.timestamp("ns", "UTC")
_EVENT: Final = pa.struct([("time_ns", pa.uint64()), ("name", pa.string()), ("attributes", _MAP)])
_LINK: Final = pa.struct(
    [("trace_id", pa.string()), ("span_id", pa.string()), ("trace_state", pa.string()), ("attributes", _MAP)]
)
_TEXTS: Final = (
    "conversation_id",
    "operation",
    "model",
    "tool",
    "agent",
    "step",
    "mcp_method",
    "mcp_session",
    "mcp_server",
    "request_id",
    "server_address",
    "error_type",
)
_INTEGERS: Final = ("turn", "input_tokens", "output_tokens", "cached_tokens")
SCHEMA: Final = pa.schema(
    [
        ("trace_id", pa.string()),
        ("span_id", pa.string()),
        ("parent_id", pa.string()),
        ("trace_state", pa.string()),
        ("flags", pa.uint32()),
        ("name", pa.string()),
        ("kind", pa.int32()),
        ("start_time", _MOMENT),
        ("start_ns", pa.uint64()),
        ("end_ns", pa.uint64()),
        ("duration_ns", pa.int64()),
        ("status_code", pa.int32()),
        ("status_message", pa.string()),
        ("service", pa.string()),
        ("scope_name", pa.string()),
        ("scope_version", pa.string()),
        *((name, pa.string()) for name in _TEXTS),
        *((name, pa.int64()) for name in _INTEGERS),
        ("attributes", _MAP),
        ("resource", _MAP),
        ("events", pa.list_(_EVENT)),
        ("links", pa.list_(_LINK)),
    ]
)


def span_tables(extract: Extract) -> Iterator[pa.Table]:
    """The tables of an extract as SCHEMA has them."""
    resources = {number: _texts(value.resource_attributes(body)) for number, (body, _) in extract.resources.items()}
    scopes = {number: value.scope(body) for number, (body, _) in extract.scopes.items()}
    for table in extract.tables:
        columns = {name: table[name] for name in SCHEMA.names if name in table.column_names}
        named = [scopes[number] for number in table["scope_id"].to_pylist()]
        columns |= {
            "trace_id": _hex(table["trace_id"]),
            "span_id": _hex(table["span_id"]),
            "parent_id": _hex(table["parent_id"]),
            "start_time": _moment(table["start_ns"]),
            "scope_name": [name for name, _ in named],
            "scope_version": [version for _, version in named],
            "attributes": _maps(table["attributes"].combine_chunks()),
            "resource": [resources[number] for number in table["resource_id"].to_pylist()],
            "events": _nested(table["events"].combine_chunks(), _EVENT),
            "links": _nested(table["links"].combine_chunks(), _LINK),
        }
        yield pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _hex(ids: pa.ChunkedArray) -> list[str]:
    return [found.hex() for found in ids.to_pylist()]


def _moment(ns: pa.ChunkedArray) -> pa.ChunkedArray:
    """Null beyond the year 2262, which no timestamp can hold."""
    fits = pc.if_else(pc.less(ns, pa.scalar(2**63, pa.uint64())), ns, None)
    return pc.cast(pc.cast(fits, pa.int64()), _MOMENT)


def _nested(lists: pa.ListArray, kind: pa.StructType) -> pa.ListArray:
    values = lists.flatten()
    fields = [_leaf(values.field(field.name), field.type) for field in kind]
    return relist(lists, pa.StructArray.from_arrays(fields, fields=list(kind)))


def _leaf(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_map(kind):
        return _maps(column)
    return pa.array(_hex(column), kind) if pa.types.is_binary(column.type) else column


def _maps(lists: pa.ListArray) -> pa.MapArray:
    """Typed attribute lists (typed.py) as maps."""
    entries = lists.flatten()
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    keys = entries.field("key")
    kept = _last(rows, keys.dictionary_encode().indices.to_numpy())
    texts = _with_bodies(entries)
    counts = np.bincount(rows[kept], minlength=len(lists))
    offsets = pa.array(np.concatenate(([0], np.cumsum(counts))).astype(np.int32))
    return pa.MapArray.from_arrays(offsets, keys.take(pa.array(kept)), texts.take(pa.array(kept)))


def _last(rows: Any, codes: Any) -> Any:
    """Positions of the last entry of each key in each row, in order."""
    pairs = rows.astype(np.int64) << 32 | codes
    _, backwards = np.unique(pairs[::-1], return_index=True)
    return np.sort(len(pairs) - 1 - backwards)


def _with_bodies(entries: pa.StructArray) -> pa.StringArray:
    """The texts, with JSON or base64 where there is a body instead."""
    texts, types = entries.field("text"), entries.field("type").to_numpy(zero_copy_only=False)
    inside = types >= ValueType.ARRAY
    if not inside.any():
        return texts
    bodies = entries.field("body").filter(pa.array(inside)).to_pylist()
    found = [_text(value.value(kind, None, body)) for kind, body in zip(types[inside].tolist(), bodies, strict=True)]
    return pc.replace_with_mask(texts, pa.array(inside), pa.array(found, pa.string()))


def _texts(attributes: Attributes) -> list[tuple[str, str | None]]:
    return [(key, _text(found)) for key, found in attributes.items()]


def _text(found: Any) -> str | None:
    if found is None or isinstance(found, str):
        return found
    if isinstance(found, bytes):
        return _base64(found)
    return json.dumps(found, ensure_ascii=False, default=_base64)


def _base64(found: bytes) -> str:
    return base64.b64encode(found).decode()
