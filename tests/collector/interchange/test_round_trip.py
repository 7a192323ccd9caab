from __future__ import annotations

import math
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from tests.collector.interchange.requests import requests

from spanwise_collector.interchange.destination import IntoStore
from spanwise_collector.interchange.exporting import STREAMS
from spanwise_collector.interchange.importing import imported
from spanwise_collector.otlp.document import decode_document
from spanwise_collector.otlp.rendering import document
from spanwise_collector.store import Choice, Store

# Shrinking an example that needs two databases takes longer than reading it.
FEW = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])


@contextmanager
def fresh() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "spans.db")
        try:
            yield store
        finally:
            store.close()


def written(store: Store, name: str) -> bytes:
    return b"".join(STREAMS[name](store.reader().extract(Choice())))


def copied(content: bytes, *names: str) -> dict[str, bytes]:
    """What a second store writes, by format, that has read this."""
    with tempfile.NamedTemporaryFile() as file, fresh() as store:
        Path(file.name).write_bytes(content)
        report = imported(file.name, IntoStore(store), lambda *_: None)
        assert report.shown == []
        return {name: written(store, name) for name in names}


def messages(content: bytes) -> list[bytes]:
    found = []
    while content:
        length = int.from_bytes(content[:4])
        found.append(content[4 : 4 + length])
        content = content[4 + length :]
    return found


def regrouped(request: ExportTraceServiceRequest) -> list[bytes]:
    """The normal form: traces by their last end, spans by start, groups where they first occur, none of them empty."""
    rows = [
        (each, scope, span) for each in request.resource_spans for scope in each.scope_spans for span in scope.spans
    ]
    ends: dict[bytes, int] = {}
    for _, _, span in rows:
        ends[span.trace_id] = max(ends.get(span.trace_id, 0), span.end_time_unix_nano)
    rows.sort(
        key=lambda row: (
            ends[row[2].trace_id],
            row[2].trace_id,
            row[2].start_time_unix_nano,
            row[2].end_time_unix_nano,
            row[2].span_id,
        )
    )
    normal = ExportTraceServiceRequest()
    groups: dict[Any, Any] = {}
    for each, scope, span in rows:
        resource = (owner(each, "resource"), each.schema_url)
        if resource not in groups:
            groups[resource] = normal.resource_spans.add(schema_url=each.schema_url)
            if each.HasField("resource"):
                groups[resource].resource.CopyFrom(each.resource)
        key = (resource, owner(scope, "scope"), scope.schema_url)
        if key not in groups:
            groups[key] = groups[resource].scope_spans.add(schema_url=scope.schema_url)
            if scope.HasField("scope"):
                groups[key].scope.CopyFrom(scope.scope)
        groups[key].spans.add().CopyFrom(span)
    return [normal.SerializeToString()] if rows else []


def owner(message: Any, field: str) -> bytes | None:
    return getattr(message, field).SerializeToString() if message.HasField(field) else None


def same_nans(message: Any) -> None:
    """JSON knows one NaN only."""
    for field, found in message.ListFields():
        if field.message_type is not None:
            for each in found if field.is_repeated else [found]:
                same_nans(each)
        elif isinstance(found, float) and found != found:  # noqa: PLR0124
            setattr(message, field.name, float("nan"))


def check_protobuf(request: ExportTraceServiceRequest) -> None:
    with fresh() as store:
        store.submit(request.SerializeToString()).result(10)
        content = written(store, "otlp-proto")
    # Bytes are compared, for a NaN is not equal to itself; parsing and writing puts fields into the usual order.
    again = [ExportTraceServiceRequest.FromString(each).SerializeToString() for each in messages(content)]
    assert regrouped(request) == again
    assert content == copied(content, "otlp-proto")["otlp-proto"]


def check_json(request: ExportTraceServiceRequest) -> None:
    same_nans(request)
    with fresh() as store:
        store.submit(request.SerializeToString()).result(10)
        content, lines = written(store, "otlp-proto"), written(store, "otlp-json")
    assert {"otlp-proto": content, "otlp-json": lines} == copied(lines, "otlp-proto", "otlp-json")


@settings(FEW, max_examples=8)
@given(request=requests())
def test_what_came_in_goes_out_bit_for_bit(request: ExportTraceServiceRequest) -> None:
    check_protobuf(request)


@settings(FEW, max_examples=8)
@given(request=requests())
def test_json_carries_everything_but_the_bits_of_a_nan(request: ExportTraceServiceRequest) -> None:
    check_json(request)


@pytest.mark.soak
@settings(FEW, max_examples=150)
@given(request=requests())
def test_many_requests_go_out_as_they_came_in(request: ExportTraceServiceRequest) -> None:
    check_protobuf(request)
    check_json(request)


@pytest.mark.parametrize("value", [AnyValue(), AnyValue(string_value=""), AnyValue(int_value=0), None])
def test_no_value_an_empty_one_and_zero_stay_different(value: AnyValue | None, otlp: Any, exported: Any) -> None:
    span = otlp.span()
    span.attributes.append(KeyValue(key="a", value=value))
    with fresh() as store:
        store.submit(otlp.body(span)).result(10)
        (found,) = messages(exported(store, "otlp-proto"))
        assert otlp.body(span) == found
        assert store.reader().trace(span.trace_id.hex())[0].attributes == {"a": {1: "", 3: 0}.get(_member(value))}


@pytest.mark.parametrize("bits", [0x7FF8 << 48, 0xFFF8 << 48, 0x7FF8 << 48 | 0xABC, 1 << 63, 1])
def test_every_bit_of_a_double_is_kept(bits: int, otlp: Any) -> None:
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    body = otlp.body(otlp.span(attributes={"x": value, "y": 0.1}))
    with fresh() as store:
        store.submit(body).result(10)
        assert [body] == messages(written(store, "otlp-proto"))
        found = store.reader().trace("0af7651916cd43dd8448eb211c80319c")[0].attributes["x"]
    assert math.isnan(value) == math.isnan(cast("float", found))


def _member(value: AnyValue | None) -> int:
    member = value.WhichOneof("value") if value is not None else None
    return 0 if member is None else AnyValue.DESCRIPTOR.fields_by_name[member].number


def test_a_deep_value_goes_through_json(otlp: Any) -> None:
    value: Any = 1
    for _ in range(40):
        value = [value]
    body = otlp.body(otlp.span(attributes={"deep": value}))
    assert decode_document(document(body)).spans == 1


def test_the_form_of_a_line_is_that_of_the_mapping(otlp: Any) -> None:
    span = otlp.span("é", span="00000000000000ff", attributes={"n": 2**53 + 1, "b": b"\xff", "x": 0.5, "none": None})
    assert (
        document(otlp.body(span))
        == (
            '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]},'
            '"scopeSpans":[{"scope":{"name":"test"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c",'
            '"spanId":"00000000000000ff","name":"é","kind":1,"startTimeUnixNano":"1700000000000000000",'
            '"endTimeUnixNano":"1700000001000000000","attributes":[{"key":"n","value":{"intValue":"9007199254740993"}},'
            '{"key":"b","value":{"bytesValue":"/w=="}},{"key":"x","value":{"doubleValue":0.5}},{"key":"none","value":{}}]'
            "}]}]}]}"
        ).encode()
    )
