"""Rows of the table ``otel_traces`` that the Collector's ClickHouse exporter writes, in the spellings that are seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spanwise_collector.interchange.formats import field
from spanwise_collector.interchange.formats.field import Row
from spanwise_collector.interchange.formats.format import DocumentFormat, keys
from spanwise_collector.interchange.formats.source import SourceEvent, SourceLink, SourceSpan, bodies
from spanwise_collector.interchange.piece import Body, Fault

_MUST: Final = {"TraceId", "SpanId", "SpanName", "Duration"}
_KNOWN: Final = (
    *("Timestamp", "TraceId", "SpanId", "ParentSpanId", "TraceState", "SpanName", "SpanKind", "ServiceName"),
    *("ResourceAttributes", "ScopeName", "ScopeVersion", "SpanAttributes", "Duration", "StatusCode", "StatusMessage"),
    *("Events.Timestamp", "Events.Name", "Events.Attributes", "Events"),
    *("Links.TraceId", "Links.SpanId", "Links.TraceState", "Links.Attributes", "Links"),
)


def _fits(document: Any) -> bool:
    return _MUST <= keys(document) or any(_MUST <= keys(rows) for rows in _keyed(document))


def _keyed(document: Any) -> list[Any]:
    """Lists of rows under the name of their session, or a whole answer with its rows under ``data``."""
    return [rows for rows in document.values() if isinstance(rows, list)] if isinstance(document, dict) else []


def _bodies(document: Any) -> Iterator[Body | Fault]:
    if isinstance(document, dict) and not keys(document) >= _MUST:
        for name, rows in document.items():
            if isinstance(rows, list) and keys(rows) >= _MUST:
                yield from bodies(field.each(rows, name, _span))
        return
    rows = document if isinstance(document, list) else [document]
    yield from bodies(field.each(rows, "rows" if isinstance(document, list) else "", _span))


def _span(row: Row) -> SourceSpan:
    start_ns = field.moment(row, "Timestamp")
    resource = field.mapping(row.get("ResourceAttributes"), "ResourceAttributes")
    service = field.text(row, "ServiceName")
    return SourceSpan(
        trace_id=field.needed(row, "TraceId"),
        span_id=field.needed(row, "SpanId"),
        parent_id=field.text(row, "ParentSpanId"),
        trace_state=field.text(row, "TraceState"),
        name=field.text(row, "SpanName"),
        kind=field.kind(row.get("SpanKind")),
        start_ns=start_ns,
        end_ns=start_ns + field.count(row, "Duration"),
        code=field.code(row.get("StatusCode")),
        message=field.text(row, "StatusMessage"),
        scope=(field.text(row, "ScopeName"), field.text(row, "ScopeVersion")),
        attributes={**field.mapping(row.get("SpanAttributes"), "SpanAttributes"), **field.others(row, *_KNOWN)},
        events=list(_events(row)),
        links=list(_links(row)),
        resource={**({"service.name": service} if service else {}), **resource},
    )


def _events(row: Row) -> Iterator[SourceEvent]:
    for at, name, attributes in _columns(row, "Events", ("Timestamp", "Name", "Attributes")):
        yield SourceEvent(
            time_ns=field.instant(at, "Events.Timestamp"),
            name=str(name or ""),
            attributes=field.mapping(attributes, "Events.Attributes"),
        )


def _links(row: Row) -> Iterator[SourceLink]:
    for trace_id, span_id, attributes in _columns(row, "Links", ("TraceId", "SpanId", "Attributes")):
        yield SourceLink(
            trace_id=str(trace_id), span_id=str(span_id), attributes=field.mapping(attributes, "Links.Attributes")
        )


def _columns(row: Row, name: str, parts: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """A nested column, as one list for each part of it or as a list of objects."""
    whole = row.get(name)
    if isinstance(whole, list):
        yield from (tuple(field.mapping(each, name).get(part) for part in parts) for each in whole)
        return
    found = [field.entries(row.get(f"{name}.{part}"), f"{name}.{part}") for part in parts]
    yield from (tuple(column[at] if at < len(column) else None for column in found) for at in range(len(found[0])))


FORMAT = DocumentFormat("rows of ClickHouse's otel_traces", _fits, _bodies)
