"""Stored columns back to the OTLP messages that they came from, the inverse of decode.py and typed.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import numpy as np
import ptars
import pyarrow as pa
import pyarrow.compute as pc

from spanwise_collector.otlp.typed import DOUBLE_BYTES, ValueType, relist
from spanwise_collector.otlp.wire import request_descriptor

_MEMBERS: Final = ("string", "bool", "int", "double", "array", "map", "bytes")


def encode(spans: pa.Table) -> pa.BinaryArray:
    """One serialized Span a row; the columns are those of the spans table."""
    handler = _handler()
    columns = {name: _column(spans, name) for name in handler.schema().names if name != "status"}
    columns["status"] = _status(spans)
    arrays = [columns[name] for name in handler.schema().names]
    return handler.record_batch_to_array(pa.RecordBatch.from_arrays(arrays, handler.schema().names))


def _column(spans: pa.Table, name: str) -> pa.Array:
    return _REPEATED.get(name, lambda column: column)(_whole(spans.column(name)))


def _status(spans: pa.Table) -> pa.StructArray:
    message, code = _whole(spans.column("status_message")), _whole(spans.column("status_code"))
    return pa.StructArray.from_arrays([message, code], ["message", "code"], mask=pc.is_null(code))


def _with_pairs(lists: pa.ListArray) -> pa.ListArray:
    values = lists.flatten()
    names = [field.name for field in values.type]
    fields = [_pairs(values.field(name)) if name == "attributes" else values.field(name) for name in names]
    return relist(lists, pa.StructArray.from_arrays(fields, names))


def _pairs(lists: pa.ListArray) -> pa.ListArray:
    """A list array of {key, type, text, body} as one of Pair (wire.py)."""
    entries = lists.flatten()
    types = entries.field("type").to_numpy(zero_copy_only=False)
    members = [_member(entries, types == kind, kind) for kind in range(ValueType.STRING, len(_MEMBERS) + 1)]
    absent = (types == ValueType.NULL) & pc.is_valid(entries.field("body")).to_numpy(zero_copy_only=False)
    values = pa.StructArray.from_arrays(members, _MEMBERS, mask=pa.array(absent))
    return relist(lists, pa.StructArray.from_arrays([entries.field("key"), values], ["key", "value"]))


def _member(entries: pa.StructArray, chosen: Any, kind: int) -> pa.Array:
    text, body = (pc.if_else(pa.array(chosen), entries.field(name), None) for name in ("text", "body"))
    match kind:
        case ValueType.STRING:
            return text
        case ValueType.BOOL:
            return pc.equal(text, "true")
        case ValueType.INT:
            return pc.cast(text, pa.int64())
        case ValueType.DOUBLE:
            return _doubles(text, body)
    return body


def _doubles(texts: pa.StringArray, bodies: pa.BinaryArray) -> pa.DoubleArray:
    values = pc.cast(texts, pa.float64())
    if bodies.null_count == len(bodies):
        return values
    bits = np.frombuffer(b"".join(bodies.drop_null().to_pylist()), f"<f{DOUBLE_BYTES}")
    return pc.replace_with_mask(values, pc.is_valid(bodies), pa.array(bits))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


_REPEATED: Final[Mapping[str, Callable[[pa.ListArray], pa.ListArray]]] = {
    "attributes": _pairs,
    "events": _with_pairs,
    "links": _with_pairs,
}


@cache
def _handler() -> Any:
    file = request_descriptor().file
    return ptars.HandlerPool([file]).get_for_message(file.message_types_by_name["Span"])
