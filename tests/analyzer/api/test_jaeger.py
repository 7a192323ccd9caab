"""Jaeger's older JSON form, as Grafana and the Jaeger UI read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

N0 = 1_700_000_000_000_000_000
TRACE = "00000000000000000000000000000abc"


def text(name: str, value: str) -> KeyValue:
    return KeyValue(key=name, value=AnyValue(string_value=value))


def plain(number: int, *, trace: str = TRACE, parent: int = 0, **more: Any) -> Span:
    """A span of 2.5 ms that starts off the µs grid."""
    return Span(
        trace_id=bytes.fromhex(trace),
        span_id=number.to_bytes(8),
        parent_span_id=parent.to_bytes(8) if parent else b"",
        name=f"span {number}",
        kind=Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=N0 + 123_456_789,
        end_time_unix_nano=N0 + 125_956_789,
        **more,
    )


def of(service: str | None, *spans: Span) -> ResourceSpans:
    attributes = [] if service is None else [text("service.name", service)]
    return ResourceSpans(resource=Resource(attributes=attributes), scope_spans=[ScopeSpans(spans=spans)])


@pytest.fixture
def stored(server: Any) -> Any:
    server.send(of("shop", plain(1), plain(2, parent=1)))
    return server


@pytest.mark.parametrize("asked", ["abc", "0000000000000abc", TRACE, TRACE.upper()])
def test_a_trace_is_found_by_any_spelling_of_its_id_and_keeps_its_leading_zeros(stored: Any, asked: str) -> None:
    (trace,) = stored.get(f"/api/traces/{asked}").json["data"]
    assert trace["traceID"] == TRACE
    assert {TRACE} == {span["traceID"] for span in trace["spans"]}
    assert [span["spanID"] for span in trace["spans"]] == ["0000000000000001", "0000000000000002"]
    assert [span["references"] for span in trace["spans"]] == [
        [],
        [{"refType": "CHILD_OF", "traceID": TRACE, "spanID": "0000000000000001"}],
    ]


@pytest.mark.parametrize(("asked", "status"), [("0" * 33, 400), ("xyz", 400), ("dead", 404)])
def test_a_refusal_comes_in_the_envelope(server: Any, asked: str, status: int) -> None:
    answer = server.get(f"/api/traces/{asked}")
    assert status == answer.status
    assert (None, [status]) == (answer.json["data"], [error["code"] for error in answer.json["errors"]])


def test_times_are_whole_microseconds(stored: Any) -> None:
    span = stored.get("/api/traces/abc").json["data"][0]["spans"][0]
    assert (span["startTime"], span["duration"]) == (1_700_000_000_123_456, 2500)


def test_every_span_has_a_process_with_a_name_and_lists_that_are_never_null(server: Any) -> None:
    trace_id = "d52".zfill(32)
    server.send(of(None, plain(1, trace=trace_id)), of("", plain(2, trace=trace_id, parent=1)))
    trace = server.get("/api/traces/d52").json["data"][0]
    for span in trace["spans"]:
        assert trace["processes"][span["processID"]]["serviceName"]
        assert [list, list, list] == [type(span[name]) for name in ("tags", "logs", "references")]


def test_tags_keep_kind_status_and_types(server: Any) -> None:
    values = [
        KeyValue(key="whole", value=AnyValue(int_value=2**60)),
        KeyValue(key="small", value=AnyValue(int_value=7)),
        KeyValue(key="yes", value=AnyValue(bool_value=True)),
        KeyValue(key="list", value=AnyValue(array_value=ArrayValue(values=[AnyValue(string_value="ä")]))),
        KeyValue(key="raw", value=AnyValue(bytes_value=b"\x00\xff")),
        KeyValue(key="nan", value=AnyValue(double_value=float("nan"))),
    ]
    failed = Status(code=Status.STATUS_CODE_ERROR, message="refused")
    event = Span.Event(time_unix_nano=N0 + 5000, name="exception", attributes=[text("exception.type", "Oops")])
    trace_id = "7a95".zfill(32)
    server.send(of("shop", plain(1, trace=trace_id, attributes=values, status=failed, events=[event])))
    (span,) = server.get("/api/traces/7a95").json["data"][0]["spans"]
    expected = {
        "whole": ("int64", str(2**60)),
        "small": ("int64", 7),
        "yes": ("bool", True),
        "list": ("string", '["ä"]'),
        "raw": ("binary", "AP8="),
        "nan": ("string", "nan"),
        "span.kind": ("string", "client"),
        "otel.status_code": ("string", "ERROR"),
        "otel.status_description": ("string", "refused"),
        "error": ("bool", True),
    }
    assert expected == {tag["key"]: (tag["type"], tag["value"]) for tag in span["tags"]}
    (log,) = span["logs"]
    assert log["timestamp"] == 1_700_000_000_000_005
    assert {row["key"]: row["value"] for row in log["fields"]} == {"event": "exception", "exception.type": "Oops"}


def test_a_span_that_ends_before_it_starts_has_no_length_and_a_warning(server: Any) -> None:
    trace_id = "d30".zfill(32)
    backwards = plain(1, trace=trace_id)
    backwards.end_time_unix_nano = backwards.start_time_unix_nano - 1
    server.send(of("shop", backwards, plain(2, trace=trace_id, parent=1)))
    spans = server.get("/api/traces/d30").json["data"][0]["spans"]
    assert {span["duration"]: bool(span["warnings"]) for span in spans} == {0: True, 2500: False}


def test_services_and_their_operations_are_listed_even_with_a_slash_in_the_name(server: Any) -> None:
    server.send(of("shop/eu", plain(1, trace="51a5".zfill(32))))
    found = server.get("/api/services").json
    assert "shop/eu" in found["data"]
    assert found["total"] == len(found["data"])
    assert server.get("/api/services/shop%2Feu/operations").json["data"] == ["span 1"]
    assert server.get("/api/services/nobody/operations").json["data"] == []


def test_parents_in_a_loop_do_not_stop_the_answer(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("loop", "100b"))
    before = server.get("/api/v1/conversations/loop").json
    trace_id = "100b".zfill(32)
    server.send(of("shop", plain(0xA, trace=trace_id, parent=0xB), plain(0xB, trace=trace_id, parent=0xA)))
    after = server.get("/api/v1/conversations/loop").json
    assert len(server.get("/api/traces/100b").json["data"][0]["spans"]) == 5
    assert before["stages"] == after["stages"]
    assert {"000000000000000a", "000000000000000b"} <= {row["span_id"] for row in after["problems"]}
