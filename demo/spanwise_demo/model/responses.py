"""The Responses API: requests in, whole answers or typed events out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spanwise_demo.model.answer import Answer, slices
from spanwise_demo.model.ask import Ask, Call, Message, Part, Tool
from spanwise_demo.model.chat import document, from_data_url

_ROLES = {"developer": "system"}
Timed = tuple[int, dict[str, Any]]


def read(body: Mapping[str, Any]) -> Ask:
    """The request in our terms; KeyError or TypeError where it is malformed."""
    form = (body.get("text") or {}).get("format") or {}
    return Ask(
        model=body["model"],
        messages=list(_messages(body)),
        tools=[_tool(tool) for tool in body.get("tools") or () if tool["type"] == "function"],
        parallel=body.get("parallel_tool_calls", True),
        schema=form.get("schema"),
        max_tokens=body.get("max_output_tokens"),
        tier=body.get("service_tier") or "auto",
        stream=bool(body.get("stream")),
    )


def whole(answer: Answer) -> dict[str, Any]:
    """The finished response object."""
    cut = answer.reply.finish == "length"
    return _envelope(answer) | {
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": _items(answer),
        "usage": _usage(answer),
    }


def events(answer: Answer) -> Iterator[Timed]:
    """The events of a streamed answer, each with how many tokens are out when it is sent."""
    for number, (sent, event) in enumerate(_events(answer)):
        yield sent, event | {"sequence_number": number}


def _events(answer: Answer) -> Iterator[Timed]:
    begun = _envelope(answer) | {"status": "in_progress", "output": [], "usage": None}
    yield 0, {"type": "response.created", "response": begun}
    yield 0, {"type": "response.in_progress", "response": begun}
    sent = 0
    for index, item in enumerate(_items(answer)):
        for count, event in _item_events(item, index):
            yield max(sent + count, 1), event
        sent += count
    done = whole(answer)
    kind = "response.completed" if done["status"] == "completed" else "response.incomplete"
    yield sent, {"type": kind, "response": done}


def _item_events(item: Mapping[str, Any], index: int) -> Iterator[Timed]:
    empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
    yield (
        0,
        {
            "type": "response.output_item.added",
            "output_index": index,
            "item": dict(item) | empty | {"status": "in_progress"},
        },
    )
    inner = _text_events if item["type"] == "message" else _call_events
    sent = 0
    for sent, event in inner(item):
        yield sent, event | {"item_id": item["id"], "output_index": index}
    yield sent, {"type": "response.output_item.done", "output_index": index, "item": dict(item)}


def _text_events(item: Mapping[str, Any]) -> Iterator[Timed]:
    part = item["content"][0]
    empty = part | {"text": ""}
    yield 0, {"type": "response.content_part.added", "content_index": 0, "part": empty}
    sent = 0
    for text, count in slices(part["text"]):
        yield sent + 1, {"type": "response.output_text.delta", "content_index": 0, "delta": text, "logprobs": []}
        sent += count
    yield sent, {"type": "response.output_text.done", "content_index": 0, "text": part["text"], "logprobs": []}
    yield sent, {"type": "response.content_part.done", "content_index": 0, "part": part}


def _call_events(item: Mapping[str, Any]) -> Iterator[Timed]:
    sent = 0
    for text, count in slices(item["arguments"]):
        yield sent + 1, {"type": "response.function_call_arguments.delta", "delta": text}
        sent += count
    yield (
        sent,
        {
            "type": "response.function_call_arguments.done",
            "name": item["name"],
            "arguments": item["arguments"],
        },
    )


def _items(answer: Answer) -> list[dict[str, Any]]:
    if answer.reply.calls:
        return [_call_item(call) for call in answer.reply.calls]
    part = {"type": "output_text", "text": answer.reply.text, "annotations": [], "logprobs": []}
    return [
        {"id": f"msg_{answer.id}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    ]


def _call_item(call: Call) -> dict[str, Any]:
    return {
        "id": f"fc_{call.id.removeprefix('call_')}",
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def _envelope(answer: Answer) -> dict[str, Any]:
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": answer.created,
        "model": answer.ask.model,
        "service_tier": answer.admission.tier,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": answer.ask.parallel,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
    }


def _usage(answer: Answer) -> dict[str, Any]:
    return {
        "input_tokens": answer.admission.input_tokens,
        "input_tokens_details": {"cached_tokens": answer.admission.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.admission.input_tokens + answer.output_tokens,
    }


def _messages(body: Mapping[str, Any]) -> Iterator[Message]:
    if body.get("instructions"):
        yield Message("system", [Part("text", body["instructions"])])
    given = body.get("input") or ()
    if isinstance(given, str):
        yield Message("user", [Part("text", given)])
        return
    for item in given:
        yield _message(item)


def _message(item: Mapping[str, Any]) -> Message:
    if item.get("type") == "function_call":
        return Message("assistant", calls=[Call(item["call_id"], item["name"], item["arguments"])])
    if item.get("type") == "function_call_output":
        return Message("tool", _parts(item["output"]))
    return Message(_ROLES.get(item["role"], item["role"]), _parts(item["content"]))


def _parts(content: Any) -> list[Part]:
    return [Part("text", content)] if isinstance(content, str) else [_part(item) for item in content]


def _part(item: Mapping[str, Any]) -> Part:
    if item["type"] == "input_image":
        return Part("image", data=from_data_url(item["image_url"]), detail=item.get("detail") or "auto")
    if item["type"] == "input_file":
        return document(item["file_data"])
    return Part("text", item["text"])


def _tool(tool: Mapping[str, Any]) -> Tool:
    return Tool(tool["name"], tool.get("description") or "", tool.get("parameters") or {})
