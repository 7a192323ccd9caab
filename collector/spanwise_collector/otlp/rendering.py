"""Serialized trace requests as OTLP/JSON, the inverse of document.py: what is not set is not there."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from google.protobuf.message import Message
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

Write: TypeAlias = Callable[[Any], Any]


def document(request: bytes) -> bytes:
    """One line of OTLP/JSON, without its end.

    JSON cannot say which NaN a NaN is, and of an unknown field it knows nothing; everything else reads back as it was.
    """
    found = _REQUEST(ExportTraceServiceRequest.FromString(request))
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def _message(fields: Mapping[str, tuple[str, Write]]) -> Write:
    def write(message: Message) -> dict[str, Any]:
        found = {}
        for field, value in message.ListFields():
            if field.name in fields:
                key, write_value = fields[field.name]
                found[key] = write_value(value)
        return found

    return write


def _list(write: Write) -> Write:
    return lambda values: [write(value) for value in values]


def _same(value: Any) -> Any:
    return value


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _value(message: Any) -> dict[str, Any]:
    member = message.WhichOneof("value")
    if member not in _VALUES:
        return {}
    key, write = _VALUES[member]
    return {key: write(getattr(message, member))}


def _array(message: Any) -> dict[str, Any]:
    return {"values": [_value(item) for item in message.values]}


def _map(message: Any) -> dict[str, Any]:
    return {"values": _attributes(message.values)}


def _attributes(entries: Iterable[Any]) -> list[dict[str, Any]]:
    return [
        {"key": entry.key, "value": _value(entry.value)} if entry.HasField("value") else {"key": entry.key}
        for entry in entries
    ]


_VALUES: Final[Mapping[str, tuple[str, Write]]] = {
    "string_value": ("stringValue", _same),
    "bool_value": ("boolValue", _same),
    "int_value": ("intValue", str),
    "double_value": ("doubleValue", _double),
    "array_value": ("arrayValue", _array),
    "kvlist_value": ("kvlistValue", _map),
    "bytes_value": ("bytesValue", _base64),
}
_COMMON: Final[Mapping[str, tuple[str, Write]]] = {
    "name": ("name", _same),
    "attributes": ("attributes", _attributes),
    "dropped_attributes_count": ("droppedAttributesCount", _same),
    "schema_url": ("schemaUrl", _same),
    "trace_id": ("traceId", bytes.hex),
    "span_id": ("spanId", bytes.hex),
    "trace_state": ("traceState", _same),
    "flags": ("flags", _same),
}
_ENTITY: Final = _message(
    {
        **_COMMON,
        "type": ("type", _same),
        "id_keys": ("idKeys", list),
        "description_keys": ("descriptionKeys", list),
    }
)
_RESOURCE: Final = _message({**_COMMON, "entity_refs": ("entityRefs", _list(_ENTITY))})
_SCOPE: Final = _message({**_COMMON, "version": ("version", _same)})
_SPAN: Final = _message(
    {
        **_COMMON,
        "parent_span_id": ("parentSpanId", bytes.hex),
        "kind": ("kind", _same),
        "start_time_unix_nano": ("startTimeUnixNano", str),
        "end_time_unix_nano": ("endTimeUnixNano", str),
        "events": ("events", _list(_message({**_COMMON, "time_unix_nano": ("timeUnixNano", str)}))),
        "dropped_events_count": ("droppedEventsCount", _same),
        "links": ("links", _list(_message(_COMMON))),
        "dropped_links_count": ("droppedLinksCount", _same),
        "status": ("status", _message({"message": ("message", _same), "code": ("code", _same)})),
    }
)
_SCOPE_SPANS: Final = _message({**_COMMON, "scope": ("scope", _SCOPE), "spans": ("spans", _list(_SPAN))})
_RESOURCE_SPANS: Final = _message(
    {**_COMMON, "resource": ("resource", _RESOURCE), "scope_spans": ("scopeSpans", _list(_SCOPE_SPANS))}
)
_REQUEST: Final = _message({"resource_spans": ("resourceSpans", _list(_RESOURCE_SPANS))})
