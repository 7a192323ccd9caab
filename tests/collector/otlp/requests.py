"""Requests of every shape, and what the official classes and our decoder read of them in comparable terms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.message import Message
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from spanwise_collector.otlp import value
from spanwise_collector.otlp.columns import Flat

_TEXT = st.text(max_size=8)
_UINT32 = st.integers(0, 2**32 - 1)
_UINT64 = st.integers(0, 2**64 - 1)


def _built(message: type, /, **fields: Any) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional=fields).map(lambda found: message(**found))


def _holding(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.lists(st.tuples(_TEXT, values), max_size=3)
    return pairs.map(lambda found: [KeyValue(key=key, value=inner) for key, inner in found])


_SCALARS = st.one_of(
    st.just(AnyValue()),
    _TEXT.map(lambda found: AnyValue(string_value=found)),
    st.booleans().map(lambda found: AnyValue(bool_value=found)),
    st.integers(-(2**63), 2**63 - 1).map(lambda found: AnyValue(int_value=found)),
    st.floats().map(lambda found: AnyValue(double_value=found)),
    st.binary(max_size=8).map(lambda found: AnyValue(bytes_value=found)),
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=3).map(lambda found: AnyValue(array_value=ArrayValue(values=found))),
        _holding(inner).map(lambda found: AnyValue(kvlist_value=KeyValueList(values=found))),
    )


def _span(fields: dict[str, Any]) -> Span:
    return Span(**fields)


_ATTRIBUTES = _holding(st.recursive(_SCALARS, _nested, max_leaves=4))
_TRACE_ID = st.binary(min_size=16, max_size=16).filter(any)
_SPAN_ID = st.binary(min_size=8, max_size=8).filter(any)
_EVENT = _built(
    Span.Event, time_unix_nano=_UINT64, name=_TEXT, attributes=_ATTRIBUTES, dropped_attributes_count=_UINT32
)
_LINK = _built(
    Span.Link,
    trace_id=_TRACE_ID,
    span_id=_SPAN_ID,
    trace_state=_TEXT,
    attributes=_ATTRIBUTES,
    dropped_attributes_count=_UINT32,
    flags=_UINT32,
)
_SPAN = st.fixed_dictionaries(
    {"trace_id": _TRACE_ID, "span_id": _SPAN_ID},
    optional={
        "parent_span_id": _SPAN_ID,
        "trace_state": _TEXT,
        "name": _TEXT,
        "kind": st.integers(0, 5),
        "start_time_unix_nano": _UINT64,
        "end_time_unix_nano": _UINT64,
        "attributes": _ATTRIBUTES,
        "dropped_attributes_count": _UINT32,
        "events": st.lists(_EVENT, max_size=2),
        "dropped_events_count": _UINT32,
        "links": st.lists(_LINK, max_size=2),
        "dropped_links_count": _UINT32,
        "status": _built(Status, message=_TEXT, code=st.integers(0, 2)),
        "flags": _UINT32,
    },
).map(_span)
REQUESTS = st.lists(
    _built(
        ResourceSpans,
        resource=_built(Resource, attributes=_ATTRIBUTES),
        schema_url=_TEXT,
        scope_spans=st.lists(
            _built(
                ScopeSpans,
                scope=_built(InstrumentationScope, name=_TEXT, version=_TEXT),
                schema_url=_TEXT,
                spans=st.lists(_SPAN, max_size=3),
            ),
            max_size=2,
        ),
    ),
    max_size=3,
).map(lambda found: ExportTraceServiceRequest(resource_spans=found))

# Of every wire type, with numbers that OTLP does not use.
_UNKNOWN: Final = (
    b"\xf8\x3e\x07",
    b"\xf9\x3eeightbyt",
    b"\xfa\x3e\x03new",
    b"\xfd\x3efour",
    b"\xfb\x3e\xf8\x3e\x01\xfc\x3e",
)


def _with_unknown(request: ExportTraceServiceRequest, places: dict[int, bytes]) -> ExportTraceServiceRequest:
    for number, message in enumerate(list(_messages(request))):
        message.MergeFromString(places.get(number, b""))
    return request


def _messages(message: Message) -> Iterator[Message]:
    yield message
    for field, found in message.ListFields():
        if field.message_type:
            for inner in found if field.is_repeated else (found,):
                yield from _messages(inner)


EXTENDED = st.builds(
    _with_unknown, REQUESTS, st.dictionaries(st.integers(0, 30), st.sampled_from(_UNKNOWN), max_size=4)
)


def comparable(found: Any) -> Any:
    """NaN equals itself here, and 0.0 differs from -0.0 and from 0."""
    if isinstance(found, float):
        return "NaN" if math.isnan(found) else ("float", found, math.copysign(1, found))
    if isinstance(found, dict):
        return {key: comparable(inner) for key, inner in found.items()}
    if isinstance(found, list):
        return [comparable(inner) for inner in found]
    return (type(found), found)


def official_attributes(message: Any) -> Any:
    """Attributes as the official classes read them."""
    return comparable(value.pairs(message.attributes))


def official(span: Span) -> dict[str, Any]:
    """A span as the official classes read it."""
    return {
        "ids": (span.trace_id, span.span_id, span.parent_span_id),
        "texts": (span.trace_state, span.name),
        "numbers": (span.flags, span.kind, span.start_time_unix_nano, span.end_time_unix_nano),
        "dropped": (span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count),
        "status": (span.status.message, span.status.code) if span.HasField("status") else (None, None),
        "attributes": official_attributes(span),
        "events": [
            (each.time_unix_nano, each.name, each.dropped_attributes_count, official_attributes(each))
            for each in span.events
        ],
        "links": [
            (
                (each.trace_id, each.span_id, each.trace_state, each.flags, each.dropped_attributes_count),
                official_attributes(each),
            )
            for each in span.links
        ],
    }


def ours(row: dict[str, Any]) -> dict[str, Any]:
    """A span as our columns hold it."""

    def attributes(entries: Any) -> Any:
        return comparable(value.attributes(entries))

    return {
        "ids": (row["trace_id"], row["span_id"], row["parent_id"]),
        "texts": (row["trace_state"], row["name"]),
        "numbers": (row["flags"], row["kind"], row["start_ns"], row["end_ns"]),
        "dropped": (row["dropped_attributes"], row["dropped_events"], row["dropped_links"]),
        "status": (row["status_message"], row["status_code"]),
        "attributes": attributes(row["attributes"]),
        "events": [
            (each["time_ns"], each["name"], each["dropped_attributes"], attributes(each["attributes"]))
            for each in row["events"]
        ],
        "links": [
            (
                (each["trace_id"], each["span_id"], each["trace_state"], each["flags"], each["dropped_attributes"]),
                attributes(each["attributes"]),
            )
            for each in row["links"]
        ],
    }


def rows(flat: Flat) -> list[dict[str, Any]]:
    """The columns, row by row."""
    columns = {name: column.to_pylist() for name, column in flat.columns.items()}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
