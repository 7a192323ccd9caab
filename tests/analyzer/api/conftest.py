"""A real server process on ports of the system's choice, and real OTLP to feed it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

N0 = 1_700_000_000_000_000_000
START_S = 60
Scalar: TypeAlias = str | bool | int | float
Values: TypeAlias = Mapping[str, Scalar]


@dataclass(frozen=True)
class Answer:
    """What came back over HTTP."""

    status: int
    media_type: str
    body: bytes

    @property
    def json(self) -> Any:
        """The body as a document."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Running:
    """A server process and where it listens."""

    process: subprocess.Popen[str]
    addresses: Mapping[str, str]

    def get(self, path: str, *, method: str = "GET", accept: str = "*/*") -> Answer:
        """Ask the API port."""
        request = urllib.request.Request(self.addresses["api"] + path, method=method, headers={"Accept": accept})  # noqa: S310
        return _sent(request)

    def send(self, *resources: ResourceSpans) -> Answer:
        """Post spans; an answer of 200 means that they are committed."""
        body = ExportTraceServiceRequest(resource_spans=resources).SerializeToString()
        headers = {"Content-Type": "application/x-protobuf"}
        return _sent(urllib.request.Request(self.addresses["otlp_http"] + "/v1/traces", body, headers))  # noqa: S310

    def end(self) -> int:
        """Tell it to end; return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(START_S)


def _sent(request: urllib.request.Request) -> Answer:
    try:
        with urllib.request.urlopen(request, timeout=START_S) as answer:  # noqa: S310
            return Answer(answer.status, answer.headers.get_content_type(), answer.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.headers.get_content_type(), error.read())


def command(*arguments: str) -> list[str]:
    """A subcommand in this interpreter."""
    return [sys.executable, "-m", *arguments]


def serve_command(db: Path) -> list[str]:
    """``spanwise serve`` on any free ports."""
    ports = ["--port", "0", "--otlp-grpc-port", "0", "--otlp-http-port", "0"]
    return command("spanwise_analyzer.serve", "--json", "--db", str(db), *ports)


Start: TypeAlias = Callable[..., Running]


@pytest.fixture(scope="session")
def start() -> Iterator[Start]:
    """Start servers; all are ended after the tests."""
    running: list[Running] = []

    def begin(db: Path, **environ: str) -> Running:
        process = subprocess.Popen(serve_command(db), stdout=subprocess.PIPE, text=True, env={**os.environ, **environ})
        assert process.stdout is not None
        running.append(Running(process, json.loads(process.stdout.readline())))
        return running[-1]

    yield begin
    for one in running:
        if one.process.poll() is None:
            one.end()
        assert one.process.stdout is not None
        one.process.stdout.close()


@pytest.fixture(scope="session")
def server(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Running:
    """One server for all tests that only add conversations of their own."""
    return start(tmp_path_factory.mktemp("server") / "spans.duckdb")


def resource(service: str | None, *spans: Span, **attributes: str) -> ResourceSpans:
    """Spans of one process."""
    names = attributes if service is None else {"service.name": service, **attributes}
    scope = ScopeSpans(spans=spans)
    return ResourceSpans(resource=Resource(attributes=pairs(names)), scope_spans=[scope])


def span(ids: tuple[str, str, str], name: str, times_ms: tuple[float, float], /, **more: Any) -> Span:
    """A span by (trace, own, parent) id in hex and (start, end) in ms after N0; ``more`` holds kind and attributes."""
    trace_id, span_id, parent_id = ids
    return Span(
        trace_id=bytes.fromhex(trace_id.zfill(32)),
        span_id=bytes.fromhex(span_id.zfill(16)),
        parent_span_id=bytes.fromhex(parent_id.zfill(16)) if parent_id else b"",
        name=name,
        kind=more.pop("kind", Span.SPAN_KIND_INTERNAL),
        start_time_unix_nano=N0 + round(times_ms[0] * 1e6),
        end_time_unix_nano=N0 + round(times_ms[1] * 1e6),
        attributes=pairs(more.pop("attributes", {})),
        **more,
    )


def pairs(values: Values) -> list[KeyValue]:
    """Attributes as OTLP has them."""
    return [KeyValue(key=name, value=_any(value)) for name, value in values.items()]


def _any(value: Scalar) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case _:
            return AnyValue(string_value=value)


Conversation: TypeAlias = Callable[..., ResourceSpans]


@pytest.fixture
def conversation() -> Conversation:
    """A conversation of one turn: an agent with one model call and one tool call."""

    def build(
        conversation_id: str, trace: str, *, at_ms: float = 0.0, slow: float = 1.0, service: str = "shop"
    ) -> ResourceSpans:
        def within(start: float, end: float) -> tuple[float, float]:
            return at_ms + start * slow, at_ms + end * slow

        agent = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "support",
            "gen_ai.conversation.id": conversation_id,
        }
        model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small"}
        tool = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "lookup", "server.address": "orders"}
        return resource(
            service,
            span((trace, "1", ""), "invoke_agent support", within(0, 1000), attributes=agent),
            span((trace, "2", "1"), "chat small", within(100, 700), kind=Span.SPAN_KIND_CLIENT, attributes=model),
            span((trace, "3", "1"), "tools/call lookup", within(700, 950), kind=Span.SPAN_KIND_CLIENT, attributes=tool),
        )

    return build
