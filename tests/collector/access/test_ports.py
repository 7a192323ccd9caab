"""The OTLP ports behind tokens, as exporters meet them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.rpc import code_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from spanwise_collector.store import Store

HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
BIG = 3_000_000  # bytes; no socket buffers hold that


def exporter(door: Any, protocol: str) -> SpanExporter:
    if protocol == "grpc":
        return GrpcExporter(f"http://{door.bound.grpc}", insecure=True, timeout=5)
    return HttpExporter(f"{door.bound.http}/v1/traces", timeout=5)


def sent(found: SpanExporter, size: int = 1) -> SpanExportResult:
    kept: list[Any] = []
    provider = TracerProvider(shutdown_on_exit=False)
    with provider.get_tracer("t").start_as_current_span("work", attributes={"x": "x" * size}) as span:
        kept.append(span)
    result = found.export(kept)
    found.shutdown()
    return result


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_exporters_get_in_with_the_token_of_the_standard_variable(
    door: Callable[..., Any], store: Store, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    opened = door(tokens="ingest:good")
    monkeypatch.setenv(HEADERS, "authorization=Bearer%20good")
    assert SpanExportResult.SUCCESS is sent(exporter(opened, protocol), BIG)
    assert opened.receiver.counts()[protocol, "accepted"] == 1


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize(("shown", "size"), [("", 1), ("bad", 1), ("reading", 1), ("bad", BIG)])
def test_exporters_without_a_good_token_are_told_so_at_once_and_nothing_is_stored(
    door: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, protocol: str, shown: str, size: int
) -> None:
    opened = door(tokens="ingest:good read:reading")
    monkeypatch.setenv(HEADERS, f"authorization=Bearer%20{shown}" if shown else "")
    assert SpanExportResult.FAILURE is sent(exporter(opened, protocol), size)
    assert {(protocol, "unauthenticated"): 1} == opened.receiver.counts()


def test_a_refusal_over_http_is_a_status_in_the_encoding_of_the_request(
    door: Callable[..., Any], post: Callable[..., Any]
) -> None:
    url = door(tokens="good").bound.http
    binary, text = post(url, b"\xff\xff"), post(url, b"{", Content_Type="application/json; charset=utf-8")
    status = status_pb2.Status.FromString(binary.body)
    assert [(401, "Bearer"), (401, "Bearer")] == [
        (each.status, each.headers["www-authenticate"]) for each in (binary, text)
    ]
    assert ["application/x-protobuf", "application/json"] == [each.headers["content-type"] for each in (binary, text)]
    assert status.code == json.loads(text.body)["code"] == code_pb2.UNAUTHENTICATED
    assert "Authorization: Bearer TOKEN" in status.message


@pytest.mark.parametrize("shown", [[], ["Bearer bad"], ["Bearer good", "Bearer bad"]])
@pytest.mark.parametrize("body", [b"", b"\xff\xff", bytes(65 * 2**20)])
def test_a_refusal_over_grpc_has_its_code_whatever_the_body(
    door: Callable[..., Any], shown: list[str], body: bytes
) -> None:
    """The body is not read: it may be broken or too large."""
    with grpc.insecure_channel(door(tokens="good").bound.grpc) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(EXPORT)(body, timeout=10, metadata=[("authorization", text) for text in shown])
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_health_over_grpc_needs_no_token(door: Callable[..., Any]) -> None:
    with grpc.insecure_channel(door(tokens="good").bound.grpc) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_processor_sends_on_after_the_tokens_were_rotated(
    door: Callable[..., Any], store: Store, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rotation: both count for a while, then only the new one; nothing is started anew."""
    file = tmp_path / "tokens"
    file.write_text("first\n")
    opened = door(token_file=str(file))
    monkeypatch.setenv(HEADERS, "authorization=Bearer%20second")
    for tokens in ("first\nsecond\n", "# first is gone\nsecond\n"):
        file.write_text(tokens)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter(opened, "http")))
        provider.get_tracer("t").start_span("work").end()
        provider.shutdown()
    assert opened.receiver.counts()["http", "accepted"] == 2
