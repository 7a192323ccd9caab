"""Reads fields of an answer, whether it is a model of the SDK or plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def field(value: Any, *names: str) -> Any:
    """``value.a.b`` for names "a", "b"; None where something on the way is missing."""
    for name in names:
        value = _member(value, name)
        if value is None:
            return None
    return value


def _member(value: Any, name: str) -> Any:
    # Each answer is asked some fifty times, most of them in vain: a dict is told apart from other mappings, which
    # an abstract class has to recognise, and a model is not made to raise.
    if type(value) is dict:
        return value.get(name)
    own = getattr(value, "__dict__", None)
    if own is not None and name in own:
        return own[name]
    extra = getattr(value, "__pydantic_extra__", None)
    if extra is not None:
        return extra.get(name)
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


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
