"""A real OTLP/HTTP receiver that keeps what it is sent, and programs of their own that send to it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

NOBODY = "http://127.0.0.1:9"
PATIENCE = 30.0  # s, for a program with its imports
_STRANGE = ("OTEL_", "SPANWISE_", "OPENAI_", "TRACEPARENT", "TRACESTATE", "BAGGAGE")


@dataclass(frozen=True, slots=True)
class Arrived:
    """One span as it came over the wire."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    resource: dict[str, Any]


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # as real ones: many processes may connect at once
    daemon_threads = True


class Receiving:
    """An OTLP/HTTP endpoint."""

    def __init__(self) -> None:
        self.spans: list[Arrived] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.url = ""

    @contextmanager
    def serving(self, port: int = 0) -> Iterator[Receiving]:
        """Serve inside the block."""
        with _Server(("127.0.0.1", port), self._handler()) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            self.url = f"http://127.0.0.1:{server.server_port}"
            yield self
            server.shutdown()
            thread.join()

    def names(self) -> list[str]:
        """The spans' names, sorted."""
        return sorted(span.name for span in self.spans)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        kept = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                kept.paths.append(self.path)
                kept.headers.append({name.lower(): value for name, value in self.headers.items()})
                kept.spans.extend(_read(ExportTraceServiceRequest.FromString(body)))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Keep the test's output clean."""

        return Handler


def _read(request: ExportTraceServiceRequest) -> Iterator[Arrived]:
    for part in request.resource_spans:
        resource = _attributes(part.resource.attributes)
        for span in (span for scope in part.scope_spans for span in scope.spans):
            ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
            yield Arrived(span.name, *ids, _attributes(span.attributes), resource)


def _attributes(pairs: Sequence[KeyValue]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    if value.WhichOneof("value") == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, value.WhichOneof("value") or "string_value")


def environ(endpoint: str | None, **variables: str) -> dict[str, str]:
    """The environment of a program of its own: ours without what the machine says of telemetry."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_STRANGE)}
    named = {} if endpoint is None else {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
    return {**kept, "SPANWISE_RAISE": "1", **named, **variables}


def run(code: str, *, endpoint: str | None, **variables: str) -> subprocess.CompletedProcess[str]:
    """``code`` in a process of its own, to its end."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environ(endpoint, **variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
