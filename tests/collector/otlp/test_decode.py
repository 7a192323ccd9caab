from __future__ import annotations

import math
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
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
from spanwise_collector.otlp.columns import Flat, flatten
from spanwise_collector.otlp.decode import Malformed, decode
from spanwise_collector.otlp.limits import Cut

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
_REQUEST = st.lists(
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


def _comparable(found: Any) -> Any:
    """NaN equals itself here, and 0.0 differs from -0.0 and from 0."""
    if isinstance(found, float):
        return "NaN" if math.isnan(found) else ("float", found, math.copysign(1, found))
    if isinstance(found, dict):
        return {key: _comparable(inner) for key, inner in found.items()}
    if isinstance(found, list):
        return [_comparable(inner) for inner in found]
    return (type(found), found)


def _official_attributes(message: Any) -> Any:
    return _comparable(value.pairs(message.attributes))


def _official(span: Span) -> dict[str, Any]:
    return {
        "ids": (span.trace_id, span.span_id, span.parent_span_id),
        "texts": (span.trace_state, span.name),
        "numbers": (span.flags, span.kind, span.start_time_unix_nano, span.end_time_unix_nano),
        "dropped": (span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count),
        "status": (span.status.message, span.status.code) if span.HasField("status") else (None, None),
        "attributes": _official_attributes(span),
        "events": [
            (each.time_unix_nano, each.name, each.dropped_attributes_count, _official_attributes(each))
            for each in span.events
        ],
        "links": [
            (
                (each.trace_id, each.span_id, each.trace_state, each.flags, each.dropped_attributes_count),
                _official_attributes(each),
            )
            for each in span.links
        ],
    }


def _ours(row: dict[str, Any]) -> dict[str, Any]:
    def attributes(entries: Any) -> Any:
        return _comparable(value.attributes(entries))

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


def _rows(flat: Flat) -> list[dict[str, Any]]:
    columns = {name: column.to_pylist() for name, column in flat.columns.items()}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


@settings(max_examples=75, deadline=None)
@given(st.lists(_REQUEST, min_size=1, max_size=3))
def test_every_value_is_the_one_that_the_official_classes_read(requests: list[ExportTraceServiceRequest]) -> None:
    """Types of attribute values, presence of a status, events, links and raw times included."""
    flat = flatten([decode(request.SerializeToString()) for request in requests])
    spans, resources, scopes = [], [], []
    for request in requests:
        for resource_spans in request.resource_spans:
            for scope_spans in resource_spans.scope_spans:
                spans += [_official(span) for span in scope_spans.spans]
                resources += [(resource_spans.resource, resource_spans.schema_url)] * len(scope_spans.spans)
                scopes += [(scope_spans.scope, scope_spans.schema_url)] * len(scope_spans.spans)
    assert spans == [_ours(row) for row in _rows(flat)]
    assert [(official.SerializeToString(), url) for official, url in resources] == [
        (flat.resources.bodies[number].as_py() or b"", flat.resources.schema_urls[number].as_py())
        for number in flat.resource_of
    ]
    assert [(official.SerializeToString(), url) for official, url in scopes] == [
        (flat.scopes.bodies[number].as_py() or b"", flat.scopes.schema_urls[number].as_py()) for number in flat.scope_of
    ]


@settings(max_examples=150, deadline=None)
@given(_REQUEST, st.integers(0, 2**16), st.binary(min_size=1, max_size=4))
def test_damaged_requests_are_malformed_or_readable_and_nothing_else(
    request: ExportTraceServiceRequest, at: int, damage: bytes
) -> None:
    body = bytearray(request.SerializeToString())
    place = at % (len(body) + 1)
    body[place : place + len(damage)] = damage
    try:
        flat = flatten([decode(bytes(body))])
    except Malformed:
        return
    for row in _rows(flat):
        _ours(row)


@pytest.mark.parametrize("garbage", [b"\xff\xff", b"not protobuf at all", b"\x0a\x05ab"])
def test_garbage_is_malformed(garbage: bytes) -> None:
    with pytest.raises(Malformed):
        decode(garbage)


@pytest.mark.parametrize("place", ["service", "scope", "name", "key", "text", "state", "message", "event"])
def test_text_that_is_no_utf8_is_mended_and_counted_wherever_it_stands(place: str) -> None:
    """The official classes refuse the whole request; one broken text must not cost the other spans."""
    names = dict.fromkeys(["service", "scope", "name", "key", "text", "state", "message", "event"], "fine")
    names[place] = "ab"
    span = Span(trace_id=b"\x01" * 16, span_id=b"\x02" * 8, name=names["name"], trace_state=names["state"])
    span.attributes.add(key=names["key"]).value.string_value = names["text"]
    span.status.message = names["message"]
    span.events.add(name=names["event"])
    scope = ScopeSpans(scope=InstrumentationScope(name=names["scope"]), spans=[span, span])
    service = KeyValue(key="service.name", value=AnyValue(string_value=names["service"]))
    request = ResourceSpans(resource=Resource(attributes=[service]), scope_spans=[scope])
    body = ExportTraceServiceRequest(resource_spans=[request]).SerializeToString().replace(b"ab", b"a\xff")
    with pytest.raises(DecodeError):
        ExportTraceServiceRequest.FromString(body)
    parcel = decode(body)
    count = 1 if place in {"service", "scope"} else 2
    assert (2, 0, {Cut.TEXT: count}) == (parcel.spans, parcel.rejected, parcel.cuts)
    assert f"{count} texts were no UTF-8" in parcel.message
    flat = flatten([parcel])
    row = _rows(flat)[0]
    ((key, text),) = value.attributes(row["attributes"]).items()
    found = {
        "service": value.resource_attributes(flat.resources.bodies[0].as_py())["service.name"],
        "scope": value.scope(flat.scopes.bodies[0].as_py())[0],
        "name": row["name"],
        "key": key,
        "text": text,
        "state": row["trace_state"],
        "message": row["status_message"],
        "event": row["events"][0]["name"],
    }
    assert {**names, place: "a\ufffd"} == found


def test_text_that_is_no_utf8_inside_an_array_or_map_is_mended_when_it_is_read() -> None:
    inner = AnyValue(array_value=ArrayValue(values=[AnyValue(string_value="ab"), AnyValue(int_value=1)]))
    span = Span(trace_id=b"\x01" * 16, span_id=b"\x02" * 8)
    span.attributes.add(key="list").value.CopyFrom(inner)
    span.attributes.add(key="map").value.kvlist_value.values.add(key="ab").value.CopyFrom(inner)
    request = ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[ScopeSpans(spans=[span])])])
    body = request.SerializeToString().replace(b"ab", b"a\xff")
    found = value.attributes(_rows(flatten([decode(body)]))[0]["attributes"])
    assert {"list": ["a\ufffd", 1], "map": {"a\ufffd": ["a\ufffd", 1]}} == found


def test_a_value_nested_deeper_than_protobuf_carries_stays_bytes_and_its_span_whole() -> None:
    """The official classes refuse the whole request."""
    deep = b""
    for _ in range(150):
        inner = b"\x0a" + _varint(len(deep)) + deep
        deep = b"\x2a" + _varint(len(inner)) + inner
    span = Span(trace_id=b"\x01" * 16, span_id=b"\x02" * 8)
    span.attributes.add(key="deep")
    span.attributes.add(key="after").value.int_value = 1
    scopes = ScopeSpans(spans=[span]).SerializeToString()
    marker = b"\x0a\x04deep"
    whole = scopes.replace(b"\x4a\x06" + marker, _field(b"\x4a", marker + _field(b"\x12", deep)))
    grown = whole[0:1] + _varint(len(whole) - 2) + whole[2:]
    body = _field(b"\x0a", _field(b"\x12", grown))
    with pytest.raises(DecodeError):
        ExportTraceServiceRequest.FromString(body)
    found = value.attributes(_rows(flatten([decode(body)]))[0]["attributes"])
    assert (1, bytes) == (found["after"], type(found["deep"]))


def _field(tag: bytes, body: bytes) -> bytes:
    return tag + _varint(len(body)) + body


def _varint(number: int) -> bytes:
    low = number & 0x7F
    return bytes([low]) if number < 0x80 else bytes([low | 0x80]) + _varint(number >> 7)


@pytest.mark.parametrize("member", ["resource", "scope"])
def test_a_resource_or_scope_that_is_none_is_malformed(member: str) -> None:
    broken = _field(b"\x0a", b"\xff\xff")
    body = broken if member == "resource" else _field(b"\x12", broken)
    with pytest.raises(Malformed):
        decode(_field(b"\x0a", body))


def test_an_empty_request_holds_nothing() -> None:
    parcel = decode(b"")
    assert (parcel.spans, parcel.rejected) == (0, 0)
