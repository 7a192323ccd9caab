"""Reads fields of an answer, whether it is a model of the SDK or plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def field(value: Any, *names: str) -> Any:
    """``value.a.b`` for names "a", "b"; None where something on the way is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if value is None:
            return None
    return value


def items(value: Any, *names: str) -> list[Any]:
    """The list under ``names``; empty where there is none."""
    found = field(value, *names)
    return list(found) if isinstance(found, list | tuple) else []


def text(value: Any, *names: str) -> str:
    """The string under ``names``; empty where there is none."""
    found = field(value, *names)
    return found if isinstance(found, str) else ""


def count(value: Any, *names: str) -> int | None:
    """The whole number under ``names``."""
    found = field(value, *names)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
