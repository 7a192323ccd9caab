"""One request to the model, whichever of the two APIs it came through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message: ``text``, ``image`` or ``file``.

    ``data`` holds the bytes of the latter two, ``text`` also the words in a file.
    """

    kind: str
    text: str = ""
    data: bytes = b""
    detail: str = "auto"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its role (system, user, assistant or tool), parts, and what the assistant called."""

    role: str
    parts: Sequence[Part] = ()
    calls: Sequence[Call] = ()

    @property
    def text(self) -> str:
        """All text of the message."""
        return "\n".join(part.text for part in self.parts if part.text)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """Everything the service needs to answer; ``schema`` is the JSON schema the answer must follow."""

    model: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    parallel: bool = True
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    tier: str = "auto"
    stream: bool = False
    usage_in_stream: bool = True

    @property
    def instructions(self) -> str:
        """All system and developer text."""
        return "\n".join(message.text for message in self.messages if message.role == "system")

    @property
    def words(self) -> str:
        """Everything that was said so far, newest last."""
        said = [message.text for message in self.messages]
        return "\n".join(said)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answers: text or tool calls, and why it stopped (stop, tool_calls or length)."""

    text: str = ""
    calls: Sequence[Call] = ()
    finish: str = "stop"
