"""What the exporters of other languages and a real Collector send is what is read, value by value."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.collector.conformance.conftest import Collector
from tests.collector.conformance.workshop import SCENARIO, SENDERS, javascript, otelcol, python_json

from spanwise_collector.span import Kind, Span, Status

Program = Callable[[str], str]
_CONFIGURATION: Final = """
receivers:
  otlp:
    protocols:
      http: {{endpoint: "127.0.0.1:{port}"}}
processors:
  batch: {{timeout: 100ms}}
exporters:
  otlp_grpc: {{endpoint: "{grpc}", tls: {{insecure: true}}}}
  otlp_http: {{endpoint: "{http}", encoding: {encoding}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [batch], exporters: [{exporter}]}}
"""


def sent(command: list[str], kind: str, coding: str, endpoint: str) -> str:
    """Trace id of what was sent."""
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_COMPRESSION": coding}
    command = [*command, kind, endpoint, str(SCENARIO)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout.strip()


def check(spans: list[Span]) -> None:
    """These are the spans of the scenario."""
    scenario = json.loads(SCENARIO.read_text(encoding="utf-8"))
    child, parent = sorted(spans, key=lambda span: span.parent_id == "")
    assert ("invoke_agent a", parent.span_id, "") == (parent.name, child.parent_id, parent.parent_id)
    assert [scenario[name] for name in ("service", "scope", "version", "name")] == [
        child.service,
        child.scope,
        child.scope_version,
        child.name,
    ]
    assert (Kind.CLIENT, Status.ERROR, scenario["status"]) == (child.kind, child.status, child.status_message)
    assert typed(scenario["attributes"]) == typed(child.attributes)
    assert [(scenario["event"]["name"], typed(scenario["event"]["attributes"]))] == [
        (event.name, typed(event.attributes)) for event in child.events
    ]
    assert [(parent.trace_id, parent.span_id, typed(scenario["link"]["attributes"]))] == [
        (link.trace_id, link.span_id, typed(link.attributes)) for link in child.links
    ]
    assert 0 < child.start_ns <= child.end_ns


def typed(attributes: Any) -> dict[str, Any]:
    """With the type of each value, since 1, 1.0 and True are equal."""
    return {
        name: [(type(item), item) for item in value] if isinstance(value, list) else (type(value), value)
        for name, value in attributes.items()
    }


@pytest.mark.parametrize("coding", ["none", "gzip"])
@pytest.mark.parametrize("kind", ["http", "proto", "grpc"])
def test_the_exporters_for_javascript(program: Program, collector: Collector, kind: str, coding: str) -> None:
    """JSON, protobuf and gRPC."""
    endpoint = f"http://{collector.bound.grpc}" if kind == "grpc" else f"{collector.bound.http}/v1/traces"
    check(collector.store.reader().trace(sent(javascript(program), kind, coding, endpoint)))


@pytest.mark.parametrize("coding", ["none", "gzip", "deflate"])
def test_the_json_exporter_for_python(collector: Collector, coding: str) -> None:
    trace = sent(python_json(), "json.http", coding, f"{collector.bound.http}/v1/traces")
    check(collector.store.reader().trace(trace))


@pytest.mark.parametrize(
    ("kind", "coding"), [("proto.http", "gzip"), ("proto.http", "deflate"), ("proto.grpc", "gzip")]
)
def test_the_protobuf_exporters_for_python(collector: Collector, kind: str, coding: str) -> None:
    endpoint = f"http://{collector.bound.grpc}" if kind == "proto.grpc" else f"{collector.bound.http}/v1/traces"
    command = [sys.executable, str(SENDERS / "python" / "send.py")]
    check(collector.store.reader().trace(sent(command, kind, coding, endpoint)))


@pytest.mark.soak
@pytest.mark.parametrize(
    ("exporter", "encoding"), [("otlp_grpc", "proto"), ("otlp_http", "proto"), ("otlp_http", "json")]
)
def test_a_collector_forwards_what_it_got(
    program: Program, collector: Collector, tmp_path: Path, exporter: str, encoding: str
) -> None:
    """Compressed with gzip, as its exporters do unless told otherwise."""
    port = _free_port()
    configuration = tmp_path / "otelcol.yaml"
    places = {"grpc": collector.bound.grpc, "http": collector.bound.http}
    configuration.write_text(_CONFIGURATION.format(port=port, exporter=exporter, encoding=encoding, **places))
    said = tmp_path / "said"
    command = [otelcol(program), "--config", str(configuration)]
    with said.open("w") as output, subprocess.Popen(command, stderr=output) as running:
        try:
            _await_listener(port, running)
            command = [sys.executable, str(SENDERS / "python" / "send.py")]
            trace = sent(command, "proto.http", "gzip", f"http://127.0.0.1:{port}/v1/traces")
        finally:
            running.terminate()  # it sends what it has before it ends
    assert 0 == running.returncode, said.read_text()
    check(collector.store.reader().trace(trace))


def _await_listener(port: int, running: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while running.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"the Collector does not listen; it ended with {running.poll()}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
