"""The ways to call a model with the SDK. Synchronous and asynchronous clients have them all, under the same names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel


class Verdict(BaseModel):
    """What a structured call wants to have."""

    ok: bool


@dataclass(frozen=True, slots=True)
class Way:
    """One way to call: its API, whether the answer comes in pieces, and what the SDK hands out."""

    name: str
    api: str
    streamed: bool
    begin: Callable[[Any], Any]
    manager: bool = False  # the SDK hands out a context manager
    unwrap: str = ""  # method of what it hands out that gives the answer

    @property
    def operation(self) -> str:
        """As the span calls it."""
        return "embeddings" if self.api == "embeddings" else "chat"


_CHAT: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
_CHAT_STREAM: Any = _CHAT | {"stream": True}
_ASK: Any = {"model": "m", "input": "hi"}
_ASK_STREAM: Any = _ASK | {"stream": True}
_EMBED: Any = {"model": "m", "input": "hi", "encoding_format": "float"}


def _chat() -> tuple[Way, ...]:
    return (
        Way("chat", "chat", False, lambda c: c.chat.completions.create(**_CHAT)),
        Way("chat-parse", "chat", False, lambda c: c.chat.completions.parse(response_format=Verdict, **_CHAT)),
        Way("chat-stream", "chat", True, lambda c: c.chat.completions.create(**_CHAT_STREAM)),
        Way("chat-helper", "chat", True, lambda c: c.chat.completions.stream(**_CHAT), manager=True),
        Way("chat-raw", "chat", False, lambda c: c.chat.completions.with_raw_response.create(**_CHAT), unwrap="parse"),
        Way(
            "chat-raw-stream", "chat", True,
            lambda c: c.chat.completions.with_raw_response.create(**_CHAT_STREAM), unwrap="parse",
        ),
        Way(
            "chat-streaming", "chat", False,
            lambda c: c.chat.completions.with_streaming_response.create(**_CHAT), manager=True, unwrap="parse",
        ),
        Way(
            "chat-streaming-stream", "chat", True,
            lambda c: c.chat.completions.with_streaming_response.create(**_CHAT_STREAM), manager=True, unwrap="parse",
        ),
        Way(
            "chat-streaming-lines", "chat", True,
            lambda c: c.chat.completions.with_streaming_response.create(**_CHAT_STREAM), manager=True,
            unwrap="iter_lines",
        ),
    )  # fmt: skip


def _responses() -> tuple[Way, ...]:
    return (
        Way("responses", "responses", False, lambda c: c.responses.create(**_ASK)),
        Way("responses-parse", "responses", False, lambda c: c.responses.parse(text_format=Verdict, **_ASK)),
        Way("responses-stream", "responses", True, lambda c: c.responses.create(**_ASK_STREAM)),
        Way("responses-helper", "responses", True, lambda c: c.responses.stream(**_ASK), manager=True),
        Way(
            "responses-raw", "responses", False,
            lambda c: c.responses.with_raw_response.create(**_ASK), unwrap="parse",
        ),
        Way(
            "responses-raw-stream", "responses", True,
            lambda c: c.responses.with_raw_response.create(**_ASK_STREAM), unwrap="parse",
        ),
        Way(
            "responses-streaming", "responses", False,
            lambda c: c.responses.with_streaming_response.create(**_ASK), manager=True, unwrap="parse",
        ),
        Way(
            "responses-streaming-stream", "responses", True,
            lambda c: c.responses.with_streaming_response.create(**_ASK_STREAM), manager=True, unwrap="parse",
        ),
    )  # fmt: skip


def _embeddings() -> tuple[Way, ...]:
    return (
        Way("embeddings", "embeddings", False, lambda c: c.embeddings.create(**_EMBED)),
        Way(
            "embeddings-raw", "embeddings", False,
            lambda c: c.embeddings.with_raw_response.create(**_EMBED), unwrap="parse",
        ),
        Way(
            "embeddings-streaming", "embeddings", False,
            lambda c: c.embeddings.with_streaming_response.create(**_EMBED), manager=True, unwrap="parse",
        ),
    )  # fmt: skip


WAYS = {way.name: way for way in (*_chat(), *_responses(), *_embeddings())}
