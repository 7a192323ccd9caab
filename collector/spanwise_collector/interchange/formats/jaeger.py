"""Jaeger's older JSON: an answer of its query API, one trace out of it, or a trace as its page keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spanwise_collector.interchange.formats import field
from spanwise_collector.interchange.formats.field import Row
from spanwise_collector.interchange.formats.format import DocumentFormat, keys
from spanwise_collector.interchange.formats.source import SourceEvent, SourceLink, SourceSpan, bodies
from spanwise_collector.interchange.piece import Body, Fault

_MICROSECOND: Final = 1_000  # ns
_KNOWN: Final = (
    *("traceID", "spanID", "parentSpanID", "flags", "operationName", "references", "startTime", "duration", "tags"),
    *("logs", "processID", "process", "warnings"),
    # What the page works out anew.
    *("relativeStartTime", "depth", "hasChildren", "childSpanIds", "childSpanCount", "subsidiarilyReferencedBy"),
)


def _fits(document: Any) -> bool:
    return any({"traceID", "spans"} <= keys(trace) for trace in _traces(document)[:1])


def _traces(document: Any) -> list[Any]:
    found = document["data"] if "data" in keys(document) and isinstance(document, dict) else document
    return found if isinstance(found, list) else [found]


def _bodies(document: Any) -> Iterator[Body | Fault]:
    for index, trace in enumerate(_traces(document)):
        where = f"data[{index}]." if "data" in keys(document) else ""
        processes = field.mapping(trace.get("processes"), f"{where}processes") if isinstance(trace, dict) else {}
        if not isinstance(trace, dict):
            yield Fault(f"data[{index}]", "expected a trace")
            continue
        yield from bodies(field.each(trace.get("spans"), f"{where}spans", lambda row: _span(row, processes)))  # noqa: B023  # used up at once


def _span(row: Row, processes: Row) -> SourceSpan:
    tags = _tags(row.get("tags"), "tags")
    start_ns = field.count(row, "startTime", unit_ns=_MICROSECOND)
    process = field.mapping(row.get("process") or processes.get(field.text(row, "processID")), "process")
    references = [field.mapping(each, "references") for each in field.entries(row.get("references"), "references")]
    trace_id = field.needed(row, "traceID")
    parent = _parent(row, references, trace_id)
    return SourceSpan(
        trace_id=trace_id,
        span_id=field.needed(row, "spanID"),
        parent_id=parent,
        name=field.text(row, "operationName"),
        kind=field.kind(tags.pop("span.kind", None)),
        start_ns=start_ns,
        end_ns=start_ns + field.count(row, "duration", unit_ns=_MICROSECOND),
        code=_code(tags),
        message=str(tags.pop("otel.status_description", "")),
        scope=(_taken(tags, "otel.scope.name", "otel.library.name"), _taken(tags, "otel.scope.version")),
        attributes={**tags, **field.others(row, *_KNOWN), **_warnings(row)},
        events=[_event(field.mapping(each, "logs")) for each in field.entries(row.get("logs"), "logs")],
        links=[
            SourceLink(trace_id=field.text(each, "traceID"), span_id=field.text(each, "spanID"))
            for each in references
            if (field.text(each, "traceID"), field.text(each, "spanID")) != (trace_id, parent)
        ],
        resource={"service.name": process.get("serviceName"), **_tags(process.get("tags"), "process.tags")},
    )


def _parent(row: Row, references: list[Row], trace_id: str) -> str:
    """The first reference into its own trace, a child's before one that only follows."""
    own = [each for each in references if each.get("traceID") == trace_id]
    own.sort(key=lambda each: each.get("refType") != "CHILD_OF")
    return field.text(own[0], "spanID") if own else field.text(row, "parentSpanID")


def _code(tags: dict[str, Any]) -> int:
    """By its own tag, else an error if something is said in ``error`` but no."""
    stated = field.code(tags.pop("otel.status_code", None))
    error = tags.get("error")
    return stated or (2 if error not in (None, False, "", "false") else 0)


def _event(row: Row) -> SourceEvent:
    fields = _tags(row.get("fields"), "logs.fields")
    name = next((str(fields.pop(key)) for key in ("event", "message") if key in fields), "log")
    return SourceEvent(time_ns=field.count(row, "timestamp", unit_ns=_MICROSECOND), name=name, attributes=fields)


def _tags(found: Any, where: str) -> dict[str, Any]:
    """Tags by key; one that comes again keeps its values as a list."""
    tags: dict[str, Any] = {}
    for each in field.entries(found, where):
        key, value = field.needed(field.mapping(each, where), "key"), _value(field.mapping(each, where))
        tags[key] = (
            [*tags[key], value] if isinstance(tags.get(key), list) else [tags[key], value] if key in tags else value
        )
    return tags


def _value(tag: Row) -> Any:
    """Numbers may have been written as text, since a browser cannot hold 64 bits."""
    value = tag.get("value")
    if isinstance(value, str) and tag.get("type") in ("int64", "float64"):
        try:
            return int(value) if tag["type"] == "int64" else float(value)
        except ValueError:
            return value
    return value


def _taken(tags: dict[str, Any], *names: str) -> str:
    found = [str(tags.pop(name)) for name in names if name in tags]
    return found[0] if found else ""


def _warnings(row: Row) -> dict[str, Any]:
    return {"jaeger.warnings": row["warnings"]} if row.get("warnings") else {}


FORMAT = DocumentFormat("Jaeger JSON", _fits, _bodies)
