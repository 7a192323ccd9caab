"""Prompts, arguments and results: recorded only where somebody asked for them, and never without bound."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from spanwise import semconv, sizes
from spanwise.text import encodable

VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
MAX_CHARACTERS = 16_384
_ON = frozenset({"true", "1", "span_only", "span_and_event"})

_asked = False


def capture(*, on: bool) -> None:
    """Record content from now on, or stop it; the standard variable switches it on as well."""
    global _asked  # noqa: PLW0603 - one process has one instrumentation
    _asked = on


def captured() -> bool:
    """Whether content may be recorded."""
    return _asked or wanted(os.environ)


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether the standard variable asks for content."""
    return environ.get(VARIABLE, "").strip().lower() in _ON


def text(value: Any) -> tuple[str, int]:
    """``value`` as text (JSON unless it is a string), cut at the limit, and its length before the cut."""
    whole = value if isinstance(value, str) else sizes.encoded(value).decode("utf-8", "replace")
    return encodable(whole[:MAX_CHARACTERS]), len(whole)


def attributes(name: str, value: Any) -> dict[str, str | int]:
    """``value`` under ``name`` where content is wanted, with a mark where it was cut; else nothing."""
    if not captured():
        return {}
    kept, length = text(value)
    cut = {} if length == len(kept) else {semconv.TRUNCATED: length}
    return {name: kept, **cut}
