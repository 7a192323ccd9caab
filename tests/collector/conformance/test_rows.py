"""What OTLP asks of a receiver, row by row, of every transport, encoding and coding."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.collector.conformance.conftest import LIMIT, PEERS, Collector
from tests.collector.conformance.peer import JSON, PROTOBUF, HttpPeer, Peer, Reply
from tests.collector.otlpjson import document

Check: TypeAlias = Callable[[Peer, Collector, Any], None]
_FATAL: Final = {"400", "INVALID_ARGUMENT"}
_TOO_LARGE: Final = {"413", "RESOURCE_EXHAUSTED"}
_UNSERVED: Final = {"404", "UNIMPLEMENTED"}
_METRICS: Final = ("gauge", "sum", "histogram", "exponential_histogram", "summary")


def accepts_and_has_stored_when_it_answers(peer: Peer, collector: Collector, otlp: Any) -> None:
    trace = _trace()
    reply = peer.send(otlp.request(otlp.span(trace=trace), otlp.span(trace=trace)))
    assert ("OK", 2) == (reply.code, len(collector.store.reader().trace(trace)))


def leaves_partial_success_unset_on_full_success(peer: Peer, _: Collector, otlp: Any) -> None:
    reply = peer.send(otlp.request(otlp.span()))
    assert ("OK", None, 2 if peer.is_json else 0) == (reply.code, reply.partial, reply.nbytes)


def counts_rejected_spans_and_says_why(peer: Peer, collector: Collector, otlp: Any) -> None:
    trace = _trace()
    bad = [otlp.span(trace=trace, span="00" * 8), otlp.span(trace="00" * 16)]
    reply = peer.send(otlp.request(otlp.span(trace=trace), *bad))
    rejected, message = reply.partial or (0, "")
    assert ("OK", 2, 1) == (reply.code, rejected, len(collector.store.reader().trace(trace)))
    assert "traceId" in message


def warns_of_what_was_changed_with_nothing_rejected(peer: Peer, collector: Collector, otlp: Any) -> None:
    trace = _trace()
    request = otlp.request(otlp.span("fine", trace=trace), otlp.span("brokn", trace=trace))
    if peer.is_json:
        deep: dict[str, Any] = {"key": "deep", "value": {"intValue": 1}}
        for _ in range(60):
            deep = {"key": "deep", "value": {"kvlistValue": {"values": [deep]}}}
        whole = document(request)
        whole["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["attributes"] = [deep]
        reply = peer.send_body(json.dumps(whole).encode())
    else:
        reply = peer.send_body(request.SerializeToString().replace(b"brokn", b"br\xffkn"))
    rejected, message = reply.partial or (-1, "")
    assert ("OK", 0, 2) == (reply.code, rejected, len(collector.store.reader().trace(trace)))
    assert message.startswith("1 ")


def takes_an_empty_request(peer: Peer, _: Collector, otlp: Any) -> None:
    assert "OK" == peer.send(ExportTraceServiceRequest()).code
    assert "OK" == peer.send_body(b"{}" if peer.is_json else b"").code


def takes_empty_envelopes(peer: Peer, _: Collector, otlp: Any) -> None:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add()
    request.resource_spans.add().resource.attributes.add(key="service.name")
    reply = peer.send(request)
    assert ("OK", None) == (reply.code, reply.partial)


def shows_a_span_once_that_was_sent_twice(peer: Peer, collector: Collector, otlp: Any) -> None:
    trace = _trace()
    request = otlp.request(otlp.span(trace=trace), otlp.span(trace=trace))
    assert ["OK", "OK"] == [peer.send(request).code for _ in range(2)]
    assert 2 == len(collector.store.reader().trace(trace))


def ignores_fields_that_it_does_not_know(peer: Peer, collector: Collector, otlp: Any) -> None:
    trace = _trace()
    request = otlp.request(otlp.span(trace=trace))
    if peer.is_json:
        whole = document(request)
        resource = whole["resourceSpans"][0]
        for holder in (whole, resource, resource["scopeSpans"][0], resource["scopeSpans"][0]["spans"][0]):
            holder["somethingNew"] = {"deep": [1, {"a": None}]}
        reply = peer.send_body(json.dumps(whole).encode())
    else:
        unknown = b"\xfa\x3e\x03new"  # field 1007
        reply = peer.send_body(request.SerializeToString() + unknown)
    assert ("OK", None, 1) == (reply.code, reply.partial, len(collector.store.reader().trace(trace)))


def refuses_what_it_cannot_read_for_good_and_names_the_fault(peer: Peer, _: Collector, otlp: Any) -> None:
    for signal in ("traces", "metrics", "logs"):
        reply = peer.send_body(b'{"resourceSpans": ' if peer.is_json else b"\xff\xff\xff", signal)
        assert reply.code in _FATAL
        assert (3, None) == (reply.status.code, reply.retry_s)
        assert [("", reply.status.message)] == reply.violations
        assert reply.status.message


def refuses_a_body_over_the_limit_also_after_decompression(peer: Peer, _: Collector, otlp: Any) -> None:
    for signal in ("traces", "metrics", "logs"):
        reply = peer.send_body(b" " * (LIMIT + 1), signal)
        assert reply.code in _TOO_LARGE, signal
        assert reply.retry_s is None


def keeps_its_answers_small_whatever_was_sent(peer: Peer, _: Collector, otlp: Any) -> None:
    if isinstance(peer, HttpPeer):
        reply = peer.send_body(b"", path=f"/{'long/' * 4_000}")
        assert reply.code in _UNSERVED
    else:
        reply = peer.send_body(b"\xff" * 100_000)
        assert reply.code in _FATAL
    assert reply.nbytes < 4_096


def takes_metrics_and_logs_and_counts_them(peer: Peer, collector: Collector, otlp: Any) -> None:
    before = dict(collector.receiver.counts())
    replies = [peer.send(_metrics(), "metrics"), peer.send(_logs(), "logs")]
    assert [("OK", None)] * 2 == [(reply.code, reply.partial) for reply in replies]
    transport = "grpc" if "grpc" in peer.name else "http"
    counts = collector.receiver.counts()
    assert [10, 4] == [
        counts[transport, counted] - before.get((transport, counted), 0) for counted in ("data_points", "log_records")
    ]


def says_of_other_signals_and_services_that_it_does_not_serve_them(peer: Peer, _: Collector, otlp: Any) -> None:
    assert peer.send_body(b"{}" if peer.is_json else b"", "profiles").code in _UNSERVED


ROWS: Final[dict[str, list[Check]]] = {
    "must": [
        accepts_and_has_stored_when_it_answers,
        leaves_partial_success_unset_on_full_success,
        counts_rejected_spans_and_says_why,
        shows_a_span_once_that_was_sent_twice,
        ignores_fields_that_it_does_not_know,
        refuses_what_it_cannot_read_for_good_and_names_the_fault,
        refuses_a_body_over_the_limit_also_after_decompression,
        keeps_its_answers_small_whatever_was_sent,
    ],
    "should": [
        takes_an_empty_request,
        takes_empty_envelopes,
        takes_metrics_and_logs_and_counts_them,
        says_of_other_signals_and_services_that_it_does_not_serve_them,
    ],
    "may": [warns_of_what_was_changed_with_nothing_rejected],
}


@pytest.mark.parametrize(
    "check", [pytest.param(check, id=f"{level}-{check.__name__}") for level, checks in ROWS.items() for check in checks]
)
@pytest.mark.parametrize("sender", PEERS)
def test_a_row_of_the_protocol_holds(check: Check, sender: str, collector: Collector, otlp: Any) -> None:
    check(collector.peer(sender), collector, otlp)


@pytest.mark.parametrize("sender", PEERS)
def test_overload_is_answered_so_that_the_sender_tries_again_and_every_span_is_counted(
    sender: str, overloaded: Collector, otlp: Any
) -> None:
    transport = "grpc" if "grpc" in sender else "http"
    before = dict(overloaded.receiver.counts())
    reply = overloaded.peer(sender).send(otlp.request(otlp.span(), otlp.span(), otlp.span()))
    assert (14, []) == (reply.status.code, reply.violations)
    assert reply.code in {"503", "UNAVAILABLE"}
    assert reply.retry_s in {1, 2, 3}
    found = {name: number - before.get((transport, name), 0) for (_, name), number in _of(transport, overloaded)}
    assert {"refused": 1, "refused_spans": 3} == found


HTTP: Final[dict[str, tuple[dict[str, str], str]]] = {
    "must-take-a-media-type-with-parameters": ({"Content_Type": "{type}; charset=utf-8"}, "OK"),
    "must-take-a-media-type-of-any-case": ({"Content_Type": "{TYPE}"}, "OK"),
    "must-take-an-empty-coding-as-none": ({"Content_Encoding": ""}, "OK"),
    "must-refuse-an-unknown-coding": ({"Content_Encoding": "br"}, "415"),
    "must-refuse-a-coding-that-the-body-has-not": ({"Content_Encoding": "gzip"}, "400"),
    "should-answer-404-elsewhere": ({"path": "/"}, "404"),
}


@pytest.mark.parametrize("row", HTTP)
@pytest.mark.parametrize("sender", ["protobuf-identity", "json-identity"])
def test_a_row_of_the_http_binding_holds(row: str, sender: str, collector: Collector, otlp: Any) -> None:
    """Every refusal is a Status in the encoding of the request, which the peer itself asserts."""
    peer: Any = collector.peer(sender)
    request = otlp.request(otlp.span())
    body = json.dumps(document(request)).encode() if peer.is_json else request.SerializeToString()
    headers, expected = HTTP[row]
    kind = {"type": peer.media_type, "TYPE": peer.media_type.upper()}
    reply: Reply = peer.send_body(body, **{name: text.format(**kind) for name, text in headers.items()})
    assert expected == reply.code
    assert expected == "OK" or reply.status.message
    assert (expected == "400") == bool(reply.violations)


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("deflate, GZIP;q=0.5", "gzip"),
        ("*", "gzip"),
        ("gzip;q=0", None),
        ("gzip; q=0.0, deflate", None),
        ("identity", None),
        ("xgzip", None),
    ],
)
@pytest.mark.parametrize("media_type", [JSON, PROTOBUF])
def test_an_answer_is_compressed_where_that_is_accepted_and_worth_it(
    collector: Collector, media_type: str, accepted: str, coding: str | None
) -> None:
    peer: Any = collector.peer("json-identity" if media_type == JSON else "protobuf-identity")
    body = b'{"resourceSpans": [{"schemaUrl": ["%s"]}]}' % (b"x" * 1_000) if media_type == JSON else b"\xff" * 99
    refused = peer.send_body(body, path=f"/{'long/' * 99}", Accept_Encoding=accepted)
    assert coding == refused.headers.get("content-encoding")
    assert (coding and "Accept-Encoding") == refused.headers.get("vary")
    assert "content-encoding" not in peer.send_body(b"{}" if peer.is_json else b"", Accept_Encoding=accepted).headers


def _of(transport: str, collector: Collector) -> list[tuple[tuple[str, str], int]]:
    return [(key, number) for key, number in collector.receiver.counts().items() if key[0] == transport]


def _trace() -> str:
    return os.urandom(16).hex()


def _metrics() -> ExportMetricsServiceRequest:
    """Two points of each kind of metric, and a metric without any."""
    request = ExportMetricsServiceRequest()
    metrics = request.resource_metrics.add().scope_metrics.add().metrics
    for kind in _METRICS:
        points = getattr(metrics.add(name=kind), kind).data_points
        for second in range(2):
            points.add(time_unix_nano=second)
    metrics.add(name="empty")
    return request


def _logs() -> ExportLogsServiceRequest:
    """Two records in each of two resources."""
    request = ExportLogsServiceRequest()
    for _ in range(2):
        records = request.resource_logs.add().scope_logs.add().log_records
        for number in range(2):
            records.add(severity_number=number).body.string_value = "said"
    return request
