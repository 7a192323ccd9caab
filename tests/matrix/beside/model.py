"""A small model server on loopback: what it answers depends on the path, the model's name and the attempt."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

INPUT, OUTPUT = 10, 5
USAGE = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
RESPONSES_USAGE = {
    "input_tokens": INPUT,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
    "output_tokens": OUTPUT,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": INPUT + OUTPUT,
}
_PACE = 0.01  # s from one event of a stream to the next
ANSWER = '{"order": "A-17"}'

Event = Mapping[str, Any]


@contextmanager
def serving(received: list[dict[str, str]] | None = None) -> Iterator[str]:
    """Serve inside the block, which gets the base URL; the headers of all requests are added to ``received``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler([] if received is None else received))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(received: list[dict[str, str]]) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one small class
    asked: Counter[str] = Counter()  # by model
    answered = itertools.count(1)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            received.append(_lower(self.headers))
            self._json({"models": []})

        def do_POST(self) -> None:
            received.append(_lower(self.headers))
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked[body["model"]] += 1
            number = next(answered)
            if body["model"] == "refused":
                self._json({"error": {"message": "no such parameter", "type": "invalid_request_error"}}, 400)
            elif body["model"] == "busy" and asked["busy"] % 2:
                self._json({"error": {"message": "overloaded", "type": "server_error"}}, 500)
            elif body.get("stream"):
                self._events(_events(self.path, body["model"], number), broken=body["model"] == "broken")
            else:
                self._json(_whole(self.path, body["model"], number))

        def _json(self, body: Event, status: int = 200) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(data)

        def _events(self, events: Sequence[Event], *, broken: bool) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            with suppress(ConnectionError):  # the client may leave before the end
                self._write(events[: len(events) // 2] if broken else events)
                if not broken:
                    self._chunk(b"data: [DONE]\n\n")
                    self._chunk(b"")
            self.close_connection = broken

        def _write(self, events: Sequence[Event]) -> None:
            for event in events:
                name = f"event: {event['type']}\n" if "type" in event else ""
                self._chunk(f"{name}data: {json.dumps(event)}\n\n".encode())

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            time.sleep(_PACE)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _lower(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _whole(path: str, model: str, number: int) -> dict[str, Any]:
    if path.endswith("/embeddings"):
        item = {"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}
        usage = {"prompt_tokens": INPUT, "total_tokens": INPUT}
        return {"object": "list", "data": [item], "model": model, "usage": usage}
    return _response(model, number) if path.endswith("/responses") else _completion(model, number)


def _events(path: str, model: str, number: int) -> list[dict[str, Any]]:
    return _response_events(model, number) if path.endswith("/responses") else _chunks(model, number)


def _completion(model: str, number: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": ANSWER}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": choices,
        "usage": USAGE,
    }


def _chunks(model: str, number: int) -> list[dict[str, Any]]:
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": model}
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in (ANSWER[:5], ANSWER[5:]))]
    said = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    last = head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return [*said, last, head | {"choices": [], "usage": USAGE}]


def _response(model: str, number: int, **changes: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": ANSWER, "annotations": []}]
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1.0,
        "model": model,
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}],
        "usage": RESPONSES_USAGE,
    } | changes


def _response_events(model: str, number: int) -> list[dict[str, Any]]:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": _response(model, number, status="in_progress", output=[], usage=None)},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **place, "part": part},
        {"type": "response.output_text.delta", **place, "delta": ANSWER, "logprobs": []},
        {"type": "response.output_text.done", **place, "text": ANSWER, "logprobs": []},
        {"type": "response.completed", "response": _response(model, number)},
    ]
    return [event | {"sequence_number": number} for number, event in enumerate(events)]
