"""An OTLP endpoint on loopback that keeps what server processes send to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Sink:
    """The spans that came, in the order in which they came."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    @property
    def environment(self) -> dict[str, str]:
        """What tells a process to send its spans here."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self._server.server_address[1]}",
            "SPANWISE_RAISE": "1",
        }

    @contextmanager
    def listening(self) -> Iterator[Sink]:
        """Listen inside the block."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        kept = self.spans

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                request = ExportTraceServiceRequest.FromString(body)
                kept.extend(
                    span for part in request.resource_spans for scope in part.scope_spans for span in scope.spans
                )
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
