"""A place where the agent and its servers send their spans."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

_KINDS = ("", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")


@dataclass(frozen=True, slots=True)
class Seen:
    """One span as it came over the wire."""

    name: str
    kind: str
    service: str
    scope: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    failed: bool


class Sink:
    """An OTLP/HTTP endpoint that keeps what it is sent."""

    def __init__(self) -> None:
        self.spans: list[Seen] = []

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Where to send spans to."""
        with ThreadingHTTPServer(("127.0.0.1", 0), self._handler()) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            yield f"http://127.0.0.1:{server.server_port}"
            server.shutdown()
            thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        kept = self.spans

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                kept.extend(_read(ExportTraceServiceRequest.FromString(body)))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Keep the test's output clean."""

        return Handler


def _read(request: ExportTraceServiceRequest) -> Iterator[Seen]:
    for part in request.resource_spans:
        service = str(_attributes(part.resource.attributes).get("service.name"))
        for scope in part.scope_spans:
            for span in scope.spans:
                yield Seen(
                    span.name,
                    _KINDS[span.kind],
                    service,
                    scope.scope.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    _attributes(span.attributes),
                    failed=span.status.code == span.status.STATUS_CODE_ERROR,
                )


def _attributes(pairs: Sequence[KeyValue]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    if value.WhichOneof("value") == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, value.WhichOneof("value") or "string_value")
