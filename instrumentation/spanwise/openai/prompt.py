"""A request as the model sees it: tools first, then instructions, then one entry after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spanwise import hashing, sizes
from spanwise.openai.answer import said
from spanwise.openai.media import Media, media
from spanwise.openai.reading import text
from spanwise.openai.route import CHAT, RESPONSES, Route

SYSTEM, USER, ASSISTANT, TOOL = "system", "user", "assistant", "tool"
_ROLES = {"developer": SYSTEM, "function": TOOL}
_TOOLS, _INSTRUCTIONS = "tools", "instructions"


@dataclass(frozen=True, slots=True)
class Entry:
    """One message, or what an assistant said in several items in a row, and its JSON."""

    role: str
    items: tuple[Any, ...]
    data: bytes
    media: Media

    @property
    def block(self) -> str:
        """Kind, hash and estimated tokens, joined by colons."""
        kind = _INSTRUCTIONS if self.role == SYSTEM else self.role
        tokens = sizes.tokens(len(self.data) - self.media.encoded) + self.media.tokens
        return f"{kind}:{self._hash()}:{tokens}"

    def _hash(self) -> str:
        return said(self.items).hash() if self.role == ASSISTANT else hashing.hashed(self.data)


@dataclass(frozen=True, slots=True)
class Prompt:
    """All that a request tells the model. ``entries`` begin with the instructions, where they are given apart."""

    tools: tuple[Any, ...]
    entries: tuple[Entry, ...]

    def blocks(self) -> list[str]:
        """The blocks, in the order in which a prefix cache sees them."""
        found = [entry.block for entry in self.entries]
        return [self._tools_block(), *found] if self.tools else found

    def results(self) -> list[str]:
        """Ids of the tool calls whose results are new: they stand after all that the model has said so far."""
        found: list[str] = []
        for entry in reversed(self.entries):
            if entry.role == ASSISTANT:
                break
            found += [text(item, "tool_call_id") or text(item, "call_id") for item in entry.items if entry.role == TOOL]
        return [call_id for call_id in reversed(found) if call_id]

    def beginning(self, nbytes: int) -> bytes:
        """The first ``nbytes`` of the JSON, in the same order."""
        found = bytearray(sizes.encoded(self.tools)[:nbytes] if self.tools else b"")
        for entry in self.entries:
            if len(found) >= nbytes:
                break
            found += entry.data[: nbytes - len(found)]
        return bytes(found)

    def _tools_block(self) -> str:
        data = sizes.encoded(self.tools)
        return f"{_TOOLS}:{hashing.hashed(data)}:{sizes.tokens(len(data))}"


def prompt(route: Route, body: Mapping[str, Any]) -> Prompt:
    """The prompt in the JSON body of a request."""
    tools = body.get("tools") or body.get("functions")
    return Prompt(
        tuple(tools) if isinstance(tools, list | tuple) else (),
        tuple(_entry(role, found) for role, found in _grouped(_messages(route, body))),
    )


def _messages(route: Route, body: Mapping[str, Any]) -> list[tuple[str, Any]]:
    if route is CHAT:
        return [(_role(message), message) for message in _list(body.get("messages"))]
    if route is not RESPONSES:
        return []
    instructions = body.get("instructions")
    given = body.get("input")
    found = [(USER, given)] if isinstance(given, str) else [(_item_role(item), item) for item in _list(given)]
    return [(SYSTEM, instructions), *found] if instructions else found


def _list(value: Any) -> list[Any]:
    # Nothing but a list may be read here: an iterator would be used up before the SDK sends it.
    return list(value) if isinstance(value, list | tuple) else []


def _role(message: Any) -> str:
    role = text(message, "role")
    return _ROLES.get(role, role) or USER


def _item_role(item: Any) -> str:
    kind = text(item, "type")
    if text(item, "role"):
        return _role(item)
    return TOOL if kind.endswith("_output") else ASSISTANT


def _grouped(messages: list[tuple[str, Any]]) -> list[tuple[str, list[Any]]]:
    """Items that an assistant said in a row are one entry, as they were one answer."""
    found: list[tuple[str, list[Any]]] = []
    for role, message in messages:
        if role == ASSISTANT and found and found[-1][0] == ASSISTANT and _joins(message):
            found[-1][1].append(message)
        else:
            found.append((role, [message]))
    return found


def _joins(message: Any) -> bool:
    # Only items of the Responses API have a type; two chat messages of an assistant in a row are two answers.
    return bool(text(message, "type"))


def _entry(role: str, found: list[Any]) -> Entry:
    data = b"".join(map(sizes.encoded, found))
    return Entry(role, tuple(found), data, media(found))
