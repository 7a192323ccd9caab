"""The chat completions API: requests in, whole answers or chunks out."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from spanwise_demo.model import pdf
from spanwise_demo.model.answer import Answer, slices
from spanwise_demo.model.ask import Ask, Call, Message, Part, Tool

_ROLES = {"developer": "system"}


def read(body: Mapping[str, Any]) -> Ask:
    """The request in our terms; KeyError or TypeError where it is malformed."""
    form = body.get("response_format") or {}
    return Ask(
        model=body["model"],
        messages=[_message(message) for message in body["messages"]],
        tools=[_tool(tool["function"]) for tool in body.get("tools") or ()],
        parallel=body.get("parallel_tool_calls", True),
        schema=(form.get("json_schema") or {}).get("schema"),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        tier=body.get("service_tier") or "auto",
        stream=bool(body.get("stream")),
        usage_in_stream=bool((body.get("stream_options") or {}).get("include_usage")),
    )


def whole(answer: Answer) -> dict[str, Any]:
    """The answer to a request without ``stream``."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.reply.text or None}
    if answer.reply.calls:
        message["tool_calls"] = [_called(call) for call in answer.reply.calls]
    choice = {"index": 0, "message": message, "finish_reason": answer.reply.finish, "logprobs": None}
    return _envelope(answer, "chat.completion") | {"choices": [choice], "usage": _usage(answer)}


def chunks(answer: Answer) -> Iterator[tuple[int, dict[str, Any]]]:
    """The chunks of a streamed answer, each with how many tokens are out when it is sent."""
    yield 0, _chunk(answer, {"role": "assistant", "content": ""})
    sent = 0
    for delta, count in _deltas(answer):
        yield sent + 1, _chunk(answer, delta)
        sent += count
    yield sent, _chunk(answer, {}, finish=answer.reply.finish)
    if answer.ask.usage_in_stream:
        yield sent, _envelope(answer, "chat.completion.chunk") | {"choices": [], "usage": _usage(answer)}


def _deltas(answer: Answer) -> Iterable[tuple[dict[str, Any], int]]:
    for text, count in slices(answer.reply.text):
        yield {"content": text}, count
    for index, call in enumerate(answer.reply.calls):
        head = {"index": index} | _called(call) | {"function": {"name": call.name, "arguments": ""}}
        yield {"tool_calls": [head]}, 0
        for text, count in slices(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": text}}]}, count


def _chunk(answer: Answer, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return _envelope(answer, "chat.completion.chunk") | {"choices": [choice]}


def _envelope(answer: Answer, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.id}",
        "object": kind,
        "created": answer.created,
        "model": answer.ask.model,
        "service_tier": answer.admission.tier,
        "system_fingerprint": "fp_local",
    }


def _usage(answer: Answer) -> dict[str, Any]:
    return {
        "prompt_tokens": answer.admission.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.admission.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.admission.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }


def _called(call: Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _message(message: Mapping[str, Any]) -> Message:
    role = _ROLES.get(message["role"], message["role"])
    calls = [
        Call(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    return Message(role, _parts(message.get("content")), calls)


def _parts(content: Any) -> list[Part]:
    if content is None:
        return []
    if isinstance(content, str):
        return [Part("text", content)]
    return [_part(item) for item in content]


def _part(item: Mapping[str, Any]) -> Part:
    if item["type"] == "image_url":
        image = item["image_url"]
        return Part("image", data=from_data_url(image["url"]), detail=image.get("detail") or "auto")
    if item["type"] == "file":
        return document(item["file"]["file_data"])
    return Part("text", item["text"])


def document(url: str) -> Part:
    """A PDF with its words."""
    data = from_data_url(url)
    return Part("file", pdf.words(data), data)


def from_data_url(url: str) -> bytes:
    """The bytes in a ``data:`` URL; ValueError for any other: this service fetches nothing."""
    head, _, body = url.partition(",")
    if not head.startswith("data:"):
        raise ValueError("only data: URLs are read")
    return base64.b64decode(body)


def _tool(function: Mapping[str, Any]) -> Tool:
    return Tool(function["name"], function.get("description") or "", function.get("parameters") or {})
