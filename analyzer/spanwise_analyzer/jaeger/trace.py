"""OTLP spans as one trace in Jaeger's older JSON form."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spanwise import semconv
from spanwise_analyzer.jaeger import shapes
from spanwise_analyzer.jaeger.shapes import Field, Log, Process, Reference, Trace
from spanwise_collector.span import Attributes, Event, Kind, Span, Status, Value

_NS_PER_US = 1000
_SAFE_INTEGER = 2**53 - 1  # larger ones lose digits in the browser, so Jaeger sends them as text
_UNKNOWN_SERVICE = "unknown_service"


def trace(spans: Sequence[Span]) -> Trace:
    """A trace of at least one span; Grafana cannot open one without."""
    keys = {_process_key(span): f"p{index}" for index, span in _first_of_each(spans)}
    processes = {keys[_process_key(span)]: _process(span) for span in spans}
    return Trace(spans[0].trace_id, [_span(span, keys[_process_key(span)]) for span in spans], processes)


def _first_of_each(spans: Sequence[Span]) -> Iterable[tuple[int, Span]]:
    first = {_process_key(span): span for span in reversed(spans)}
    ordered = sorted(first.values(), key=lambda span: (span.start_ns, span.span_id))
    return enumerate(ordered, start=1)


def _process_key(span: Span) -> tuple[str, str]:
    return span.service or _UNKNOWN_SERVICE, json.dumps(span.resource, default=_plain, sort_keys=True)


def _process(span: Span) -> Process:
    tags = {name: value for name, value in span.resource.items() if name != semconv.SERVICE_NAME}
    return Process(span.service or _UNKNOWN_SERVICE, _fields(tags))


def _span(span: Span, process: str) -> shapes.Span:
    return shapes.Span(
        traceID=span.trace_id,
        spanID=span.span_id,
        operationName=span.name,
        references=_references(span),
        startTime=span.start_ns // _NS_PER_US,
        # An unfinished span, or one that ends before it starts, has no length; its tags still say all that is known.
        duration=max(0, span.end_ns - span.start_ns) // _NS_PER_US,
        tags=_fields(_tags(span)),
        logs=[_log(event) for event in span.events],
        processID=process,
        warnings=_warnings(span),
    )


def _warnings(span: Span) -> list[str] | None:
    if not span.end_ns:
        return ["unfinished: the span has no end"]
    return ["the span ends before it starts"] if span.end_ns < span.start_ns else None


def _references(span: Span) -> list[Reference]:
    parent = [Reference("CHILD_OF", span.trace_id, span.parent_id)] if span.parent_id else []
    return parent + [Reference("FOLLOWS_FROM", link.trace_id, link.span_id) for link in span.links]


def _tags(span: Span) -> dict[str, Value]:
    tags: dict[str, Value] = {"otel.scope.name": span.scope, "otel.scope.version": span.scope_version}
    tags |= span.attributes
    if span.kind is not Kind.UNSPECIFIED:
        tags["span.kind"] = span.kind.name.lower()
    if span.status is not Status.UNSET:
        tags["otel.status_code"] = span.status.name
    if span.status is Status.ERROR:
        tags["error"] = True
    tags |= {"otel.status_description": span.status_message, "w3c.tracestate": span.trace_state}
    return {name: value for name, value in tags.items() if value != "" or name in span.attributes}


def _log(event: Event) -> Log:
    return Log(event.time_ns // _NS_PER_US, _fields({"event": event.name} | dict(event.attributes)))


def _fields(attributes: Attributes) -> list[Field]:
    return [_field(name, value) for name, value in attributes.items()]


def _field(name: str, value: Value) -> Field:
    match value:
        case bool():
            return Field(name, "bool", value)
        case int():
            return Field(name, "int64", value if abs(value) <= _SAFE_INTEGER else str(value))
        case float():
            return Field(name, "float64", value) if value - value == 0 else Field(name, "string", str(value))
        case bytes():
            return Field(name, "binary", base64.b64encode(value).decode())
        case str():
            return Field(name, "string", value)
        case _:
            return Field(name, "string", json.dumps(value, default=_plain, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return dict(value) if isinstance(value, Mapping) else list(value)
