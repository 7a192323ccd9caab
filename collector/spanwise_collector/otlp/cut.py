"""Spans that are over a limit: what is too much of them is left out, and they say so."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, Final

from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from spanwise.semconv import TRUNCATED
from spanwise_collector.otlp.limits import Cut, SpanLimits
from spanwise_collector.otlp.nesting import NESTED, levels
from spanwise_collector.otlp.twin import twin
from spanwise_collector.otlp.wire import request_descriptor

_UINT32: Final = 2**32 - 1
_ITEM: Final = 6  # bytes that a tag and a length take at most


def cut(request: bytes, limits: SpanLimits) -> tuple[bytes, Counter[Cut]]:
    """The request within the limits, and how much was cut and why.

    What was left out is added to the span's dropped counts; the longest value that was shortened leaves its length in
    ``spanwise.truncated``.
    """
    message = _message().FromString(request)
    cuts: Counter[Cut] = Counter()
    for resource_spans in message.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                _cut_span(span, limits, cuts)
    return message.SerializeToString(), cuts


def _cut_span(span: Any, limits: SpanLimits, cuts: Counter[Cut]) -> None:
    _drop_last(span, Cut.EVENTS, limits.events, cuts)
    _drop_last(span, Cut.LINKS, limits.links, cuts)
    for holder in (span, *span.events, *span.links):
        _drop_last(holder, Cut.ATTRIBUTES, limits.attributes, cuts)
        if limits.value_depth:
            _drop_deep(holder, limits.value_depth, cuts)
        if limits.value_bytes:
            _shorten(holder, limits.value_bytes, cuts)


def _drop_last(holder: Any, what: Cut, limit: int, cuts: Counter[Cut]) -> None:
    entries = getattr(holder, what)
    excess = len(entries) - limit
    if limit and excess > 0:
        del entries[limit:]
        _dropped(holder, what, excess)
        cuts[what] += excess


def _dropped(holder: Any, what: Cut, count: int) -> None:
    field = f"dropped_{what}"
    setattr(holder, field, min(getattr(holder, field) + count, _UINT32))


def _drop_deep(holder: Any, limit: int, cuts: Counter[Cut]) -> None:
    kept = [pair for pair in holder.attributes if _depth(pair.value) <= limit]
    excess = len(holder.attributes) - len(kept)
    if excess:
        del holder.attributes[:]
        holder.attributes.extend(kept)
        _dropped(holder, Cut.ATTRIBUTES, excess)
        cuts[Cut.DEPTH] += excess


def _depth(value: Any) -> int:
    return max((levels(getattr(value, member), member) for member in NESTED if value.HasField(member)), default=0)


def _shorten(holder: Any, limit: int, cuts: Counter[Cut]) -> None:
    longest = 0
    for pair in holder.attributes:
        for field, found in pair.value.ListFields():
            if isinstance(found, str | bytes) and (size := len(_bytes(found))) > limit:
                setattr(pair.value, field.name, _part(field.name, found, limit))
                longest = max(longest, size)
                cuts[Cut.LENGTH] += 1
    if longest:
        holder.attributes.add(key=TRUNCATED).value.int = longest


def _bytes(found: str | bytes) -> bytes:
    return found.encode() if isinstance(found, str) else found


def _part(member: str, found: Any, limit: int) -> str | bytes:
    if member == "string":
        # What is left of a character that was cut through is dropped.
        return str(found.encode()[:limit].decode(errors="ignore"))
    return _fitting(member, found, limit) if member in NESTED else bytes(found[:limit])


def _fitting(member: str, body: bytes, limit: int) -> bytes:
    """As many of the first items as have room."""
    kind = twin(NESTED[member])
    try:
        whole = kind.FromString(body)
    except DecodeError:
        return b""
    kept = kind()
    for item in whole.values:
        limit -= item.ByteSize() + _ITEM
        if limit < 0:
            break
        kept.values.append(item)
    return bytes(kept.SerializeToString())


@cache
def _message() -> Any:
    return GetMessageClass(request_descriptor())
