"""Reads the body of an answer that the SDK does not parse: one JSON value, or server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol

_EVENTS = "text/event-stream"
_DATA = "data:"


class Reader(Protocol):
    """What an answer is told to."""

    def piece(self, chunk: Any) -> bool:
        """One chunk or event."""

    def whole(self, answer: Any) -> None:
        """All of it."""


def read(response: Any, reader: Reader) -> None:
    """Tell ``reader`` what the body of ``response`` says; nothing where it is no JSON."""
    if _EVENTS in response.headers.get("content-type", ""):
        # When a piece came is not known here, so only its contents are taken.
        for event in _events(response.text):
            reader.piece(event)
    elif (answer := _parsed(response.text)) is not None:
        reader.whole(answer)


def _events(text: str) -> Iterator[Any]:
    for line in text.splitlines():
        data = line.removeprefix(_DATA).strip()
        if line.startswith(_DATA) and data.startswith("{") and (event := _parsed(data)) is not None:
            yield event


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
