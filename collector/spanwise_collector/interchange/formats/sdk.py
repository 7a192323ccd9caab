"""Spans as SDKs and test tools write them down: a flat list, or one object a line, of ended spans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spanwise_collector.interchange.formats import field
from spanwise_collector.interchange.formats.field import Row
from spanwise_collector.interchange.formats.format import DocumentFormat, keys
from spanwise_collector.interchange.formats.source import SourceEvent, SourceLink, SourceSpan, bodies
from spanwise_collector.interchange.piece import Body, Fault
from spanwise_collector.otlp.decode import Malformed

_CONTEXTS: Final = ("context", "spanContext", "span_context")
_TRACE: Final = ("trace_id", "traceId")
_SPAN: Final = ("span_id", "spanId")
_PARENT: Final = ("parent_span_id", "parentSpanId", "parent_id", "parentId")
_START: Final = ("start_time", "startTime", "start_time_unix_nano", "startTimeUnixNano")
_END: Final = ("end_time", "endTime", "end_time_unix_nano", "endTimeUnixNano")
_EVENTS: Final = ("events", "span_events")
_SCOPES: Final = ("scope", "instrumentation_scope", "instrumentationScope", "instrumentationLibrary")
_KNOWN: Final = (
    *(*_CONTEXTS, *_TRACE, *_SPAN, *_PARENT, *_START, *_END, *_EVENTS, *_SCOPES),
    *("name", "kind", "attributes", "links", "status", "resource", "parentSpanContext", "duration", "ended"),
    *("droppedAttributesCount", "droppedEventsCount", "droppedLinksCount", "_spanContext", "trace_state"),
)
_JAVASCRIPT_KINDS: Final = {0: 1, 1: 2, 2: 3, 3: 4, 4: 5}  # it counts from INTERNAL, which is 1 on the wire


def _fits(document: Any) -> bool:
    rows = _rows(document)
    found = keys(rows[:1])
    named = any(name in found for name in (*_TRACE, *_CONTEXTS))
    return named and "name" in found and any(name in found for name in _START)


def _rows(document: Any) -> list[Any]:
    inner = document.get("spans") if isinstance(document, dict) else None
    found = inner if isinstance(inner, list) else document
    return found if isinstance(found, list) else [found]


def _bodies(document: Any) -> Iterator[Body | Fault]:
    session = document.get("session_id") if isinstance(document, dict) else None
    beside = {"session.id": session} if isinstance(session, str) else {}
    where = "spans" if isinstance(document, dict) and "spans" in document else ""
    yield from bodies(field.each(_rows(document), where, lambda row: _span(row, beside)))


def _span(row: Row, beside: Row) -> SourceSpan:
    context = field.mapping(field.first(row, *_CONTEXTS), "context")
    parent = field.mapping(row.get("parentSpanContext"), "parentSpanContext")
    scope = field.mapping(field.first(row, *_SCOPES), "scope")
    resource = field.mapping(row.get("resource"), "resource")
    code, message = _status(row)
    return SourceSpan(
        trace_id=field.text(row, *_TRACE) or field.needed(context, *_TRACE),
        span_id=field.text(row, *_SPAN) or field.needed(context, *_SPAN),
        parent_id=field.text(row, *_PARENT) or field.text(parent, *_SPAN),
        trace_state=field.text(row, "trace_state"),
        name=field.text(row, "name"),
        kind=_kind(row, javascript="spanContext" in row),
        start_ns=field.moment(row, *_START),
        end_ns=field.moment(row, *_END) if field.first(row, *_END) is not None else 0,
        code=code,
        message=message,
        scope=(field.text(scope, "name"), field.text(scope, "version")),
        attributes={**beside, **field.others(row, *_KNOWN), **field.mapping(row.get("attributes"), "attributes")},
        events=[_event(field.mapping(each, "events")) for each in field.entries(field.first(row, *_EVENTS), "events")],
        links=[_link(field.mapping(each, "links")) for each in field.entries(row.get("links"), "links")],
        resource=field.mapping(resource.get("attributes", resource), "resource.attributes"),
    )


def _kind(row: Row, *, javascript: bool) -> int:
    value = row.get("kind")
    return _JAVASCRIPT_KINDS.get(value, 0) if javascript and isinstance(value, int) else field.kind(value)


def _status(row: Row) -> tuple[int, str]:
    status = row.get("status")
    if isinstance(status, str):
        return field.code(status), ""
    found = field.mapping(status, "status")
    return field.code(field.first(found, "code", "status_code")), field.text(found, "message", "description")


def _event(row: Row) -> SourceEvent:
    return SourceEvent(
        time_ns=field.moment(row, "timestamp", "time", "timeUnixNano", "time_unix_nano"),
        name=field.text(row, "name"),
        attributes=field.mapping(row.get("attributes"), "events.attributes"),
    )


def _link(row: Row) -> SourceLink:
    context = field.mapping(field.first(row, *_CONTEXTS) or row, "links.context")
    try:
        trace_id, span_id = field.needed(context, *_TRACE), field.needed(context, *_SPAN)
    except Malformed as error:
        raise Malformed(error.reason, f"links.{error.field}") from error
    return SourceLink(
        trace_id=trace_id, span_id=span_id, attributes=field.mapping(row.get("attributes"), "links.attributes")
    )


FORMAT = DocumentFormat("spans of an SDK", _fits, _bodies)
