"""How many bytes a span has on the wire, about, so that requests and queues can be kept within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

_SPAN = 256  # ids, times, name, status
_ENTRY = 12  # tags and lengths around an attribute and its value
_SCALAR = 10


def of_span(span: ReadableSpan) -> int:
    """The size of ``span``; a text is counted to the byte, the rest is rounded up."""
    size = _SPAN + len(span.name) + of_mapping(span.attributes)
    size += len(span.status.description or "")
    for event in span.events:
        size += _SPAN + len(event.name) + of_mapping(event.attributes)
    for link in span.links:
        size += _SPAN + of_mapping(link.attributes)
    return size


def of_mapping(found: Mapping[str, Any] | None) -> int:
    """The size of attributes."""
    return sum(len(key) + _ENTRY + of_value(value) for key, value in found.items()) if found else 0


def of_value(value: Any) -> int:
    """The size of one attribute's value."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, Mapping):
        return of_mapping(value)
    return _of_items(value) if isinstance(value, Sequence) else _SCALAR


def _of_items(values: Iterable[Any]) -> int:
    return sum(_ENTRY + of_value(value) for value in values)
