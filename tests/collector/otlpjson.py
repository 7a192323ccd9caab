"""OTLP/JSON of official messages, for senders in tests."""

from __future__ import annotations

import base64
from typing import Any, Final

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

_IDS: Final = frozenset({"traceId", "spanId", "parentSpanId"})


def document(message: Message) -> Any:
    """The message as the mapping wants it: enums as numbers, ids in hex."""
    return _hexed(MessageToDict(message, use_integers_for_enums=True))


def _hexed(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _id(inner) if key in _IDS else _hexed(inner) for key, inner in found.items()}
    return [_hexed(item) for item in found] if isinstance(found, list) else found


def _id(text: str) -> str:
    return base64.b64decode(text).hex()
