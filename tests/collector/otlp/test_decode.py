from __future__ import annotations

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
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span
from tests.collector.otlp.requests import EXTENDED, REQUESTS, official, ours, rows

from spanwise_collector.otlp import value
from spanwise_collector.otlp.columns import flatten
from spanwise_collector.otlp.decode import Malformed, decode
from spanwise_collector.otlp.limits import Cut, SpanLimits


@settings(max_examples=75, deadline=None)
@given(st.lists(EXTENDED, min_size=1, max_size=3))
def test_every_value_is_the_one_that_the_official_classes_read(requests: list[ExportTraceServiceRequest]) -> None:
    """Types of attribute values, presence of a status, events, links and raw times included."""
    flat = flatten([decode(request.SerializeToString()) for request in requests])
    spans, resources, scopes = [], [], []
    for request in requests:
        for resource_spans in request.resource_spans:
            for scope_spans in resource_spans.scope_spans:
                spans += [official(span) for span in scope_spans.spans]
                resources += [(resource_spans.resource, resource_spans.schema_url)] * len(scope_spans.spans)
                scopes += [(scope_spans.scope, scope_spans.schema_url)] * len(scope_spans.spans)
    assert spans == [ours(row) for row in rows(flat)]
    assert [(message.SerializeToString(), url) for message, url in resources] == [
        (flat.resources.bodies[number].as_py() or b"", flat.resources.schema_urls[number].as_py())
        for number in flat.resource_of
    ]
    assert [(message.SerializeToString(), url) for message, url in scopes] == [
        (flat.scopes.bodies[number].as_py() or b"", flat.scopes.schema_urls[number].as_py()) for number in flat.scope_of
    ]


@settings(max_examples=150, deadline=None)
@given(REQUESTS, st.integers(0, 2**16), st.binary(min_size=1, max_size=4))
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
    for row in rows(flat):
        ours(row)


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
    row = rows(flat)[0]
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
    found = value.attributes(rows(flatten([decode(body)]))[0]["attributes"])
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
    found = value.attributes(rows(flatten([decode(body)]))[0]["attributes"])
    assert (1, bytes) == (found["after"], type(found["deep"]))


def _field(tag: bytes, body: bytes) -> bytes:
    return tag + _varint(len(body)) + body


def _varint(number: int) -> bytes:
    low = number & 0x7F
    return bytes([low]) if number < 0x80 else bytes([low | 0x80]) + _varint(number >> 7)


def test_a_group_that_ends_as_another_one_is_passed_over_and_refused_where_a_span_must_be_cut() -> None:
    """No sender makes groups; the official classes refuse the whole request."""
    span = Span(trace_id=b"\x01" * 16, span_id=b"\x02" * 8, name="after").SerializeToString() + b"\x5b\x14"
    body = _field(b"\x0a", _field(b"\x12", _field(b"\x12", span + Span(events=[Span.Event()] * 2).SerializeToString())))
    with pytest.raises(DecodeError):
        ExportTraceServiceRequest.FromString(body)
    row = rows(flatten([decode(body)]))[0]
    assert ("after", 2) == (row["name"], len(row["events"]))
    with pytest.raises(Malformed):
        decode(body, SpanLimits(events=1))


@pytest.mark.parametrize("member", ["resource", "scope"])
def test_a_resource_or_scope_that_is_none_is_malformed(member: str) -> None:
    broken = _field(b"\x0a", b"\xff\xff")
    body = broken if member == "resource" else _field(b"\x12", broken)
    with pytest.raises(Malformed):
        decode(_field(b"\x0a", body))


def test_an_empty_request_holds_nothing() -> None:
    parcel = decode(b"")
    assert (parcel.spans, parcel.rejected) == (0, 0)
