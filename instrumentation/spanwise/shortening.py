"""Spans that are too big for a collector to take: their longest values are cut, and the span says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Status

from spanwise import semconv, weight
from spanwise.spancopy import changed

_NAME = 1024  # characters
_MARK = 64  # bytes that the mark itself may take


def shortened(span: ReadableSpan, limit: int) -> ReadableSpan:
    """``span`` in at most about ``limit`` bytes: no value is cut that is shorter than one that stays whole."""
    values = [*_values(span.attributes), *(value for event in span.events for value in _values(event.attributes))]
    sizes = [weight.of_value(value) for value in values]
    fixed = weight.of_span(span) - sum(sizes) - _texts(span) + _MARK
    share = _share(sizes, max(0, limit - fixed))
    return changed(
        span,
        name=span.name[:_NAME],
        attributes=_cut(span.attributes or {}, share),
        events=[
            Event(event.name[:_NAME], _cut(event.attributes or {}, share), event.timestamp) for event in span.events
        ],
        status=Status(span.status.status_code, (span.status.description or "")[:_NAME] or None),
    )


def _texts(span: ReadableSpan) -> int:
    """What goes away where the texts that are no values are cut."""
    texts = [span.name, span.status.description or "", *(event.name for event in span.events)]
    return sum(max(0, len(text) - _NAME) for text in texts)


def _values(attributes: Mapping[str, Any] | None) -> Iterable[Any]:
    return attributes.values() if attributes else ()


def _share(sizes: Sequence[int], room: int) -> int:
    """The greatest size that all may have so that they fit into ``room`` together."""
    for place, size in enumerate(ordered := sorted(sizes)):
        share = room // (len(ordered) - place)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def _cut(attributes: Mapping[str, Any], share: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    longest = 0
    for name, value in attributes.items():
        found[name] = value if weight.of_value(value) <= share else _part(value, share)
        if found[name] is not value:
            longest = max(longest, len(value))
    if longest:
        found[semconv.TRUNCATED] = longest
    return found


def _part(value: Any, share: int) -> Any:
    if isinstance(value, str):
        # Bytes are cut, and what is left of a character that was cut through is dropped.
        return value.encode("utf-8", "replace")[:share].decode("utf-8", "ignore")
    if isinstance(value, bytes):
        return value[:share]
    if isinstance(value, Mapping):
        return {key: value[key] for key in _fitting(value, share)}
    return _fitting(value, share) if isinstance(value, Sequence) else value


def _fitting(values: Iterable[Any], share: int) -> list[Any]:
    """As many of the first ``values`` as have room."""
    kept: list[Any] = []
    for value in values:
        share -= weight.of_value([value])
        if share < 0:
            break
        kept.append(value)
    return kept
