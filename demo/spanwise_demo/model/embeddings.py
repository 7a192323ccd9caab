"""The embeddings API: texts in, vectors out; it takes the time of a prompt and writes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from spanwise_demo.model.answer import Answer
from spanwise_demo.model.ask import Ask, Message, Part

_BYTE = 255


def read(body: Mapping[str, Any]) -> Ask:
    """The request in our terms, a message for each text; KeyError or TypeError where it is malformed."""
    given = body["input"]
    texts = [given] if isinstance(given, str) else [str(text) for text in given]
    return Ask(body["model"], [Message("user", [Part("text", text)]) for text in texts], max_tokens=0)


def whole(answer: Answer) -> dict[str, Any]:
    """A vector for each text, the same for the same text."""
    used = answer.admission.input_tokens
    return {
        "object": "list",
        "model": answer.ask.model,
        "data": [
            {"object": "embedding", "index": index, "embedding": _vector(message.text)}
            for index, message in enumerate(answer.ask.messages)
        ],
        "usage": {"prompt_tokens": used, "total_tokens": used},
    }


def _vector(text: str) -> list[float]:
    return [byte / _BYTE for byte in hashlib.sha256(text.encode()).digest()]
