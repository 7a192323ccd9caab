"""Database rows to spans: the codec of the reading side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from spanwise_collector import dialect
from spanwise_collector.otlp import value
from spanwise_collector.span import Attributes, Event, Kind, Link, Span, SpanKey, Status
from spanwise_collector.store.cursors import Row

COLUMNS: Final = (
    "trace_id",
    "span_id",
    "parent_id",
    "name",
    "start_ns",
    "end_ns",
    "kind",
    "status_code",
    "status_message",
    "trace_state",
    "flags",
    "attributes",
    "events",
    "links",
    "resource_id",
    "scope_id",
)

_KINDS: Final = {int(kind): kind for kind in Kind}
_STATUSES: Final = {int(status): status for status in Status}


def span(row: Row, resources: Mapping[int, Attributes], scopes: Mapping[int, tuple[str, str]]) -> Span:
    """One span from a row of COLUMNS, attributes with canonical names added; unknown enum numbers read as 0."""
    found = dict(zip(COLUMNS, row, strict=True))
    resource = resources[found["resource_id"]]
    scope, scope_version = scopes[found["scope_id"]]
    raw = value.attributes(found["attributes"])
    return Span(
        trace_id=found["trace_id"].hex(),
        span_id=found["span_id"].hex(),
        parent_id=_parent(found["parent_id"]),
        name=found["name"],
        start_ns=found["start_ns"],
        end_ns=found["end_ns"],
        kind=_KINDS.get(found["kind"], Kind.UNSPECIFIED),
        status=_STATUSES.get(found["status_code"], Status.UNSET),
        status_message=found["status_message"] or "",
        service=value.service(resource),
        process=value.process(resource),
        scope=scope,
        attributes=dialect.canonical(raw, found["name"], scope),
        events=[_event(event) for event in found["events"]],
        links=[_link(link) for link in found["links"]],
        resource=resource,
        scope_version=scope_version,
        trace_state=found["trace_state"],
        flags=found["flags"],
    )


def once(spans: Iterable[Span]) -> list[Span]:
    """One span a key, the most complete copy, whatever the order; sorted by start, end and key."""
    best: dict[SpanKey, Span] = {}
    for each in spans:
        other = best.get(each.key)
        if other is None or _completeness(each) > _completeness(other):
            best[each.key] = each
    return sorted(best.values(), key=lambda each: (each.start_ns, each.end_ns, each.key))


def _completeness(each: Span) -> tuple[int, int, int, str]:
    return each.end_ns, -each.start_ns, len(each.attributes), repr(each)


def _parent(parent: bytes) -> str:
    return parent.hex() if any(parent) else ""  # some senders write a root's parent as zeros


def _event(event: Mapping[str, Any]) -> Event:
    return Event(event["time_ns"], event["name"], value.attributes(event["attributes"]))


def _link(link: Mapping[str, Any]) -> Link:
    return Link(link["trace_id"].hex(), link["span_id"].hex(), value.attributes(link["attributes"]))
