"""A small OpenAI-compatible server on loopback: real HTTP, answers chosen by the test."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass(slots=True)
class Reply:
    """One HTTP answer: ``body`` as JSON, or ``events`` as server-sent ones, each after its ``pause`` in seconds."""

    body: Mapping[str, Any] | None = None
    events: Sequence[Mapping[str, Any]] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pauses: Sequence[float] = ()
    cut: bool = False  # break the connection after the events


@dataclass(slots=True)
class Received:
    """One HTTP request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Any


class ModelServer:
    """Answers with the queued replies, the last one again and again."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.received: list[Received] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        """Base URL for a client."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @contextmanager
    def running(self) -> Iterator[ModelServer]:
        """Serve inside the block."""
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._answer(None)

            def do_POST(self) -> None:
                self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

            def _answer(self, body: Any) -> None:
                server.received.append(Received(self.path, dict(self.headers), body))
                reply = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
                if reply.events or reply.body is None:
                    _send_events(self, reply)
                else:
                    _send_body(self, reply)

            def handle(self) -> None:
                with suppress(ConnectionError):  # the client closed in mid-answer
                    super().handle()

            def log_message(self, *args: object) -> None:
                """Keep the test's output clean."""

        return Handler


def _send_body(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    for pause in reply.pauses:
        time.sleep(pause)
    data = json.dumps(reply.body).encode()
    handler.send_response(reply.status)
    for name, value in {"content-type": "application/json", **reply.headers}.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def _send_events(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    handler.send_response(reply.status)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    try:
        _write_events(handler, reply)
    except OSError:  # the client left early: that is what some tests are about
        handler.close_connection = True


def _write_events(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    pauses = list(reply.pauses) + [0.0] * len(reply.events)
    for event, pause in zip(reply.events, pauses, strict=False):
        time.sleep(pause)
        _chunk(handler, _sse(event))
    if reply.cut:
        handler.close_connection = True
        return
    _chunk(handler, b"data: [DONE]\n\n")
    _chunk(handler, b"")


def _chunk(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
    handler.wfile.flush()


def _sse(event: Mapping[str, Any]) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def completion(text: str = "Hello", **changes: Any) -> dict[str, Any]:
    """A whole chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m-2026",
        "service_tier": "default",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": USAGE,
    } | changes


def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, **changes: Any) -> dict[str, Any]:
    """One chunk of a chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "m-2026",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    } | changes


def normal_chunks() -> list[dict[str, Any]]:
    """A role, three pieces of text, the end, and the usage."""
    words = [chunk({"content": word}) for word in ("Hel", "lo ", "you")]
    return [
        chunk({"role": "assistant", "content": ""}),
        *words,
        chunk({}, "stop"),
        chunk(None, choices=[], usage=USAGE),
    ]


def tool_call_message(name: str = "lookup", arguments: str = '{"id": "A-17"}') -> dict[str, Any]:
    """An assistant's message that asks for one call."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def response(**changes: Any) -> dict[str, Any]:
    """A whole answer of the Responses API."""
    content = [{"type": "output_text", "text": "Hello", "annotations": []}]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000.0,
        "model": "m-2026",
        "status": "completed",
        "service_tier": "default",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content},
        ],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 32},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 3},
            "total_tokens": 107,
        },
    } | changes


def response_events() -> list[dict[str, Any]]:
    """The events of a streamed answer of the Responses API."""
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response(status="in_progress", output=[], usage=None)},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **place, "part": part},
        {"type": "response.output_text.delta", **place, "delta": "Hel", "logprobs": []},
        {"type": "response.output_text.delta", **place, "delta": "lo", "logprobs": []},
        {"type": "response.output_text.done", **place, "text": "Hello", "logprobs": []},
        {"type": "response.completed", "response": response()},
    ]
    return [event | {"sequence_number": number} for number, event in enumerate(events)]
