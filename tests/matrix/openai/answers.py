"""What the service answers, for each API, whole and in pieces."""

from __future__ import annotations

from typing import Any

TEXT = '{"ok": true}'  # so that structured calls can parse it
TOKENS = {"chat": (10, 5), "responses": (100, 7), "embeddings": (3, None)}
ERROR = {"error": {"message": "no such thing", "type": "invalid_request_error", "code": "bad_thing", "param": None}}

_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def whole(api: str) -> dict[str, Any]:
    """A complete answer."""
    return {"chat": _completion, "responses": _response, "embeddings": _embedding}[api]()


def pieces(api: str) -> list[dict[str, Any]]:
    """The same, streamed."""
    return _events() if api == "responses" else _chunks()


def _completion() -> dict[str, Any]:
    message = {"role": "assistant", "content": TEXT}
    choices = [{"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}]
    return _identity("chat.completion") | {"choices": choices, "usage": _USAGE}


def _chunks() -> list[dict[str, Any]]:
    deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}, {"content": TEXT[:5]}, {"content": TEXT[5:]}]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    head = _identity("chat.completion.chunk")
    return [*(head | {"choices": [choice]} for choice in choices), head | {"choices": [], "usage": _USAGE}]


def _identity(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1700000000, "model": "m-2026"}


def _response(**changes: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000.0,
        "model": "m-2026",
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [message],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 3},
            "total_tokens": 107,
        },
    } | changes


def _events() -> list[dict[str, Any]]:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": _response(status="in_progress", output=[], usage=None)},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **place, "part": part},
        {"type": "response.output_text.delta", **place, "delta": TEXT[:5], "logprobs": []},
        {"type": "response.output_text.delta", **place, "delta": TEXT[5:], "logprobs": []},
        {"type": "response.output_text.done", **place, "text": TEXT, "logprobs": []},
        {"type": "response.completed", "response": _response()},
    ]
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


def _embedding() -> dict[str, Any]:
    data = [{"object": "embedding", "index": 0, "embedding": [0.1, 0.2]}]
    return {"object": "list", "model": "e-1", "data": data, "usage": {"prompt_tokens": 3, "total_tokens": 3}}
