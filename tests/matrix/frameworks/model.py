"""A model on loopback that looks an order up and then says what it learned, by both APIs of OpenAI."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOL = "lookup_order"
ARGUMENTS = '{"order_id": "A-17"}'
_USAGE = {"prompt_tokens": 40, "completion_tokens": 8, "total_tokens": 48}
_USAGE_RESPONSES = {
    "input_tokens": 40,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 8,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 48,
}
Json = dict[str, Any]


@contextmanager
def serving() -> Iterator[str]:
    """The base URL for clients of OpenAI."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        responses = self.path.endswith("/responses")
        answer = _response(asked) if responses else _completion(asked)
        if asked.get("stream") and not responses:
            self._send("text/event-stream", "".join(_chunks(answer)).encode())
        else:
            self._send("application/json", json.dumps(answer).encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Keep the test's output clean."""


def _completion(asked: Json) -> Json:
    known = [message["content"] for message in asked["messages"] if message["role"] == "tool"]
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": TOOL, "arguments": ARGUMENTS}}
    message = {"content": _said(known[-1])} if known else {"content": None, "tool_calls": [call]}
    choice = {
        "index": 0,
        "finish_reason": "stop" if known else "tool_calls",
        "message": {"role": "assistant", **message},
    }
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": asked["model"]}
    return {**head, "choices": [choice], "usage": _USAGE}


def _chunks(answer: Json) -> Iterator[str]:
    choice = answer["choices"][0]
    head = {**answer, "object": "chat.completion.chunk"}
    del head["usage"]
    for delta, finish in ((choice["message"], None), ({}, choice["finish_reason"])):
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    yield _event({**head, "choices": [], "usage": answer["usage"]})
    yield "data: [DONE]\n\n"


def _event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


def _response(asked: Json) -> Json:
    items = asked["input"] if isinstance(asked["input"], list) else []
    known = [item["output"] for item in items if item.get("type") == "function_call_output"]
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": TOOL, "arguments": ARGUMENTS}
    part = {"type": "output_text", "text": _said(known[-1]) if known else "", "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000.0,
        "model": asked["model"],
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [message if known else {**call, "status": "completed"}],
        "usage": _USAGE_RESPONSES,
    }


def _said(result: Any) -> str:
    """The state stands somewhere in the result, whatever the framework makes of it."""
    return "Your order A-17 was shipped." if "shipped" in json.dumps(result) else "I do not know."
