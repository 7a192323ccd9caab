"""A span as a file that is no OTLP tells it, and requests made of such spans."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from spanwise_collector.interchange.piece import PROTOBUF, Body, Fault
from spanwise_collector.otlp.decode import SPAN_ID_BYTES, TRACE_ID_BYTES

SOURCE_TRACE_ID: Final = "spanwise.source.trace_id"  # what the file calls it, where that is no id of OTLP
SOURCE_SPAN_ID: Final = "spanwise.source.span_id"
_TOGETHER: Final = 512  # spans in a request
_DEEPEST: Final = 20  # maps and lists within each other; below them is text
_INT64: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEvent:
    """Something that happened at one moment of a span, or (without a time) a link's attributes."""

    time_ns: int
    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLink:
    """Another span that this one points to."""

    trace_id: str
    span_id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpan:
    """Ids as the file has them, times in ns, values as JSON has them; ``end_ns`` 0 is a span without an end."""

    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str
    kind: int = 0
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any]
    events: Sequence[SourceEvent] = ()
    links: Sequence[SourceLink] = ()
    code: int = 0
    message: str = ""
    trace_state: str = ""
    resource: Mapping[str, Any] = field(default_factory=dict)
    scope: tuple[str, str] = ("", "")  # name and version


def bodies(found: Iterable[SourceSpan | Fault]) -> Iterator[Body | Fault]:
    """Requests of up to 512 spans, and the faults between them."""
    waiting: list[SourceSpan] = []
    for each in found:
        if isinstance(each, Fault):
            yield each
            continue
        waiting.append(each)
        if len(waiting) == _TOGETHER:
            yield _body(waiting)
            waiting = []
    if waiting:
        yield _body(waiting)


def _body(spans: Sequence[SourceSpan]) -> Body:
    owners: dict[tuple[str, tuple[str, str]], list[SourceSpan]] = {}
    for span in spans:
        owners.setdefault((json.dumps(span.resource, sort_keys=True), span.scope), []).append(span)
    request = ExportTraceServiceRequest(resource_spans=[_owned(scope, each) for (_, scope), each in owners.items()])
    return Body(request.SerializeToString(), PROTOBUF)


def _owned(scope: tuple[str, str], spans: Sequence[SourceSpan]) -> ResourceSpans:
    name, version = map(_text, scope)
    within = ScopeSpans(scope=InstrumentationScope(name=name, version=version), spans=map(_span, spans))
    return ResourceSpans(resource=Resource(attributes=_pairs(spans[0].resource)), scope_spans=[within])


def _span(span: SourceSpan) -> Span:
    trace_id, span_id = _id(span.trace_id, TRACE_ID_BYTES), _id(span.span_id, SPAN_ID_BYTES)
    renamed = {
        **({} if _same(trace_id, span.trace_id) else {SOURCE_TRACE_ID: span.trace_id}),
        **({} if _same(span_id, span.span_id) else {SOURCE_SPAN_ID: span.span_id}),
    }
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=_id(span.parent_id, SPAN_ID_BYTES) if span.parent_id else b"",
        trace_state=_text(span.trace_state),
        name=_text(span.name),
        kind=span.kind,  # type: ignore[arg-type]  # any number may be one
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        attributes=_pairs({**span.attributes, **renamed}),
        events=[
            Span.Event(time_unix_nano=each.time_ns, name=_text(each.name), attributes=_pairs(each.attributes))
            for each in span.events
        ],
        links=[
            Span.Link(
                trace_id=_id(each.trace_id, TRACE_ID_BYTES),
                span_id=_id(each.span_id, SPAN_ID_BYTES),
                attributes=_pairs(each.attributes),
            )
            for each in span.links
        ],
        status=Status(code=span.code, message=_text(span.message)),  # type: ignore[arg-type]  # as above
    )


def _id(text: str, nbytes: int) -> bytes:
    """The id; shorter ones are filled up as Jaeger does, and what is no number at all always gets the same one."""
    digits = text.lower().removeprefix("0x").replace("-", "")
    if re.fullmatch(f"[0-9a-f]{{1,{2 * nbytes}}}", digits) and int(digits, 16):
        return bytes.fromhex(digits.zfill(2 * nbytes))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=nbytes).digest()


def _same(made: bytes, text: str) -> bool:
    return made.hex().lstrip("0") == text.lower().removeprefix("0x").lstrip("0")


def _pairs(attributes: Mapping[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=_text(key), value=_value(value)) for key, value in attributes.items() if value is not None]


def _value(value: Any, depth: int = 0) -> AnyValue:
    if isinstance(value, list | dict) and depth < _DEEPEST:
        return _compound(value, depth + 1)
    if value is None:
        return AnyValue()
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int) and value in _INT64:
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(string_value=_text(value if isinstance(value, str) else json.dumps(value)))


def _compound(value: list[Any] | dict[str, Any], depth: int) -> AnyValue:
    if isinstance(value, list):
        return AnyValue(array_value=ArrayValue(values=[_value(each, depth) for each in value]))
    pairs = [KeyValue(key=_text(key), value=_value(each, depth)) for key, each in value.items()]
    return AnyValue(kvlist_value=KeyValueList(values=pairs))


def _text(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
