"""Copies of ended spans that differ in a few parts, since an ended span takes no more changes."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, Status

from spanwise import text


def changed(span: ReadableSpan, **changes: Any) -> ReadableSpan:
    """A copy of ``span`` with ``changes``, which are named like the arguments of ``ReadableSpan``."""
    parts: dict[str, Any] = {
        "name": span.name,
        "context": span.context,
        "parent": span.parent,
        "resource": span.resource,
        "attributes": span.attributes,
        "events": span.events,
        "links": span.links,
        "kind": span.kind,
        "instrumentation_scope": span.instrumentation_scope,
        "status": span.status,
        "start_time": span.start_time,
        "end_time": span.end_time,
    }
    return ReadableSpan(**parts | changes)


def cleaned(span: ReadableSpan) -> ReadableSpan:
    """A copy of ``span`` all of whose texts can be written."""
    return changed(
        span,
        name=text.encodable(span.name),
        resource=Resource(text.attributes(span.resource.attributes), span.resource.schema_url),
        attributes=text.attributes(span.attributes or {}),
        events=[
            Event(text.encodable(event.name), text.attributes(event.attributes or {}), event.timestamp)
            for event in span.events
        ],
        links=[Link(link.context, text.attributes(link.attributes or {})) for link in span.links],
        status=_status(span.status),
    )


def _status(status: Status) -> Status:
    return Status(status.status_code, None if status.description is None else text.encodable(status.description))
