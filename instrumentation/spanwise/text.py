"""Makes every text that comes from outside writable: half of a surrogate pair has no bytes in UTF-8."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from opentelemetry.util.types import AttributeValue

from spanwise.safety import let_through

MAX_ID = 256  # characters; percent-encoded that still fits into one member of a baggage header (4,096 bytes)
REPLACEMENT = "\ufffd"

_DIGITS = 16
_PLAIN = frozenset({int, float, bool})
_SURROGATES = re.compile("[\ud800-\udfff]")


def encodable(value: Any) -> str:
    """``value`` as text that UTF-8 can write; each lone surrogate becomes U+FFFD.

    An object that has no text is called by the name of its type.
    """
    try:
        text = str(value)
    except Exception as error:  # noqa: BLE001 - it is a program's own
        let_through(error)
        text = type(value).__name__
    return text if text.isascii() else _SURROGATES.sub(REPLACEMENT, text)


def identifier(value: Any) -> str:
    """``value`` as an id that survives a baggage header: encodable, without outer blanks, at most ``MAX_ID`` long.

    The tail of a longer one is replaced by a digest, so that ids that differ stay different in every process.
    """
    text = encodable(value).strip()
    if len(text) <= MAX_ID:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    return f"{text[: MAX_ID - _DIGITS - 1]}~{digest}"


def attributes(found: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """``found`` with encodable names and values."""
    return {
        name if name.isascii() else encodable(name): value if type(value) in _PLAIN else _value(value)
        for name, value in found.items()
    }


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return value if type(value) is str and value.isascii() else encodable(value)
    if isinstance(value, list | tuple):
        return [encodable(item) if isinstance(item, str) else item for item in value]
    return value
