"""A model service on loopback that does what one cell needs: answers, refuses, holds back, breaks off."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 20.0  # s
VOLATILE = frozenset({"traceparent", "tracestate", "baggage"})  # what tracing adds, on purpose


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer: ``events`` are server-sent, otherwise ``body`` is JSON."""

    body: Any = None
    events: Sequence[Mapping[str, Any]] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    held: bool = False  # nothing is sent before the cell is over
    stop_after: int | None = None  # events that are sent, in one piece; then the connection is held open
    cut: bool = False  # break the connection instead of holding it


@dataclass(frozen=True, slots=True)
class Received:
    """One request, without what may differ between two runs of the same program."""

    path: str
    headers: tuple[str, ...]
    retry: str
    body: Any


class Service:
    """Answers with the replies of its script, the last one again and again."""

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.received: list[Received] = []
        self.connections = 0
        self.arrived = threading.Event()
        self.over = threading.Event()
        self._open = 0
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._http.block_on_close = False

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @contextmanager
    def running(self) -> Iterator[Service]:
        """Serve inside the block."""
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    @contextmanager
    def playing(self, script: Sequence[Reply]) -> Iterator[None]:
        """Answer with ``script`` inside the block, from a clean state."""
        self.script, self.received, self.connections = list(script), [], 0
        self.arrived.clear()
        self.over.clear()
        try:
            yield
        finally:
            self.over.set()

    def deserted(self) -> bool:
        """Whether every connection gets closed, now that the client is."""
        self.over.set()
        deadline = time.monotonic() + PATIENCE
        while self._open and time.monotonic() < deadline:
            time.sleep(0.002)
        return not self._open

    def next_reply(self, received: Received) -> Reply:
        """Take note of a request."""
        with self._lock:
            self.received.append(received)
            reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self.arrived.set()
        return reply

    def connected(self, change: int) -> None:
        """A connection was opened (1) or closed (-1)."""
        with self._lock:
            self._open += change
            self.connections += max(change, 0)


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            service.connected(1)
            super().setup()

        def finish(self) -> None:
            with suppress(OSError):
                super().finish()
            service.connected(-1)

        def handle(self) -> None:
            with suppress(OSError):  # clients that leave early are what many cells are about
                super().handle()

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            reply = service.next_reply(_received(self, json.loads(data)))
            if reply.held:
                service.over.wait(PATIENCE)
            _send(self, reply, service.over)

        def log_message(self, *args: object) -> None:
            """Keep the test's output clean."""

    return Handler


def _received(handler: BaseHTTPRequestHandler, body: Any) -> Received:
    names = sorted(name.lower() for name in handler.headers if name.lower() not in VOLATILE)
    return Received(handler.path, tuple(names), handler.headers.get("x-stainless-retry-count", ""), body)


def _send(handler: BaseHTTPRequestHandler, reply: Reply, over: threading.Event) -> None:
    if reply.events:
        _send_events(handler, reply, over)
        return
    data = json.dumps(reply.body).encode()
    _send_head(handler, reply, {"content-type": "application/json", "content-length": str(len(data))})
    handler.wfile.write(data[: len(data) // 2] if reply.cut else data)
    handler.close_connection = reply.cut


def _send_events(handler: BaseHTTPRequestHandler, reply: Reply, over: threading.Event) -> None:
    _send_head(handler, reply, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
    _write(handler, b"".join(map(_sse, reply.events[: reply.stop_after])))
    if reply.cut:
        handler.close_connection = True
        return
    if reply.stop_after is not None:
        over.wait(PATIENCE)
    _write(handler, b"data: [DONE]\n\n")
    _write(handler, b"")


def _send_head(handler: BaseHTTPRequestHandler, reply: Reply, headers: Mapping[str, str]) -> None:
    handler.send_response(reply.status)
    for name, value in {**headers, "x-request-id": "req-1", **reply.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()


def _write(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
    handler.wfile.flush()


def _sse(event: Mapping[str, Any]) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()
