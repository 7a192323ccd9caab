"""What a model said, in the form that is the same when it comes back as history in a later request."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spanwise import hashing
from spanwise.openai.reading import field, items, text

_CALLS = ("function_call", "custom_tool_call")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model asked for."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Said:
    """Text and tool calls of one answer; reasoning is left out, since services do not take it back as text."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()

    def hash(self) -> str:
        """Equal for an answer and for the history entry that is made of it.

        Ids and formatting of arguments are left out: agents renumber and rewrite them on the way.
        """
        parts = [self.text.strip()]
        for call in self.calls:
            parts += (call.name, _canonical(call.arguments))
        return hashing.hashed("\0".join(parts))


def said(entries: Iterable[Any]) -> Said:
    """What chat messages of an assistant, or output items of the Responses API, say together."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    for entry in entries:
        if text(entry, "type") in _CALLS:
            arguments = text(entry, "arguments") or text(entry, "input")
            calls.append(ToolCall(text(entry, "call_id"), text(entry, "name"), arguments))
        else:
            texts.append(content_text(field(entry, "content")) or text(entry, "refusal"))
            calls.extend(map(chat_call, items(entry, "tool_calls")))
    return Said("".join(texts), tuple(calls))


def content_text(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else []
    return "".join(text(part, "text") or text(part, "refusal") for part in parts)


def chat_call(call: Any) -> ToolCall:
    """A tool call as chat completions write it, for functions and custom tools."""
    if field(call, "custom") is not None:
        return ToolCall(text(call, "id"), text(call, "custom", "name"), text(call, "custom", "input"))
    return ToolCall(text(call, "id"), text(call, "function", "name"), text(call, "function", "arguments"))


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return arguments
