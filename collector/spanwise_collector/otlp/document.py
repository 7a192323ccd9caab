"""OTLP/JSON to the bytes that protobuf senders send, read strictly by the mapping's rules.

Hex ids in any case, lowerCamelCase keys only, unknown keys ignored, 64-bit integers as digits or as number, null as
absent. Structure that is broken is Malformed and names the field; a span that is itself unusable is left out
and counted.
``google.protobuf.json_format`` cannot be used: it reads ids as base64 and refuses unknown keys and lone surrogates.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final, TypeAlias

from google.protobuf.message import Error as MessageError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from spanwise_collector.otlp import scalar
from spanwise_collector.otlp.decode import SPAN_ID_BYTES, TRACE_ID_BYTES, Malformed, Parcel, decode
from spanwise_collector.otlp.scalar import BadSpan, Read

Fields: TypeAlias = Mapping[str, tuple[str, Read]]  # JSON key: field of the message, reader

# The official classes cannot write messages nested deeper than this.
_DEEPEST: Final = 102
_PLACE: Final = 200  # characters of a place, which may be nested as deep
# Keys that cannot be ignored: everything below them would be lost without a word.
_MISNAMED: Final = {"resource_spans": "resourceSpans", "batches": "resourceSpans", "scope_spans": "scopeSpans"}


def decode_document(body: bytes) -> Parcel:
    """Decode one OTLP/JSON trace request; raises Malformed, naming the field, if it is not one."""
    faults: list[str] = []
    try:
        body = _request(faults)(json.loads(body.decode("utf-8-sig")), "").SerializeToString()
    except BadSpan as error:
        raise Malformed(str(error)) from error
    except Malformed:
        raise
    except MessageError as error:
        raise Malformed(f"protobuf cannot carry this: {error}") from error
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error
    parcel = decode(body)
    message = "; ".join(filter(None, [parcel.message, *faults[:1]]))
    return replace(parcel, rejected=parcel.rejected + len(faults), message=message, request=body)


def _request(faults: list[str]) -> Read:
    scope_spans = _message(
        ScopeSpans,
        {
            "scope": ("scope", _SCOPE),
            "instrumentationLibrary": ("scope", _SCOPE),
            "spans": ("spans", _spans(faults)),
            "schemaUrl": ("schema_url", scalar.text),
        },
    )
    resource_spans = _message(
        ResourceSpans,
        {
            "resource": ("resource", _RESOURCE),
            "scopeSpans": ("scope_spans", _list(scope_spans)),
            "instrumentationLibrarySpans": ("scope_spans", _list(scope_spans)),
            "schemaUrl": ("schema_url", scalar.text),
        },
    )
    return _message(ExportTraceServiceRequest, {"resourceSpans": ("resource_spans", _list(resource_spans))})


def _message(build: Callable[..., Any], fields: Fields) -> Read:
    def read(value: Any, where: str) -> Any:
        found: dict[str, Any] = {}
        for key, inner in scalar.mapping(value, where or "the document").items():
            place = f"{where}.{key}" if where else key
            if key in _MISNAMED:
                raise Malformed(f"{place}: OTLP/JSON calls this {_MISNAMED[key]}")
            if key in fields and inner is not None:
                field, read_field = fields[key]
                found[field] = _joined(found.get(field), read_field(inner, place))
        return build(**found)

    return read


def _joined(earlier: Any, found: Any) -> Any:
    """Two keys may name one field: what is repeated is kept from both, else the last one counts."""
    return [*earlier, *found] if isinstance(earlier, list) else found


def _list(read: Read) -> Read:
    def read_all(value: Any, where: str) -> list[Any]:
        return [read(item, f"{where}[{index}]") for index, item in enumerate(scalar.items(value, where))]

    return read_all


def _spans(faults: list[str]) -> Read:
    def read(value: Any, where: str) -> list[Span]:
        spans = []
        for index, item in enumerate(scalar.items(value, where)):
            try:
                spans.append(_SPAN(item, f"{where}[{index}]"))
            except BadSpan as error:
                faults.append(str(error))
        return spans

    return read


@cache
def _value(depth: int) -> Read:
    """Reads an AnyValue that lies ``depth`` messages deep; nothing recognised in it, or null, is no value."""

    def read(value: Any, where: str) -> AnyValue:
        if depth > _DEEPEST:
            raise BadSpan(f"{_short(where)}: nested deeper than protobuf can carry")
        found = AnyValue()
        for key, inner in scalar.mapping(value, where).items():
            if key in _VALUES and inner is not None:
                field, read_member = _VALUES[key]
                found = AnyValue(**{field: read_member(depth)(inner, f"{where}.{key}")})
        return found

    return read


def _array(depth: int) -> Read:
    return _message(ArrayValue, {"values": ("values", _list(_value(depth + 2)))})


def _map(depth: int) -> Read:
    return _message(KeyValueList, {"values": ("values", _attributes(depth + 1))})


def _attributes(depth: int) -> Read:
    """Reads the attributes of a message that lies ``depth`` messages deep, the request being the first."""
    return _list(_message(KeyValue, {"key": ("key", scalar.text), "value": ("value", _value(depth + 2))}))


def _short(where: str) -> str:
    return where if len(where) <= _PLACE else f"{where[:_PLACE]}..."


def _common(depth: int) -> Fields:
    return {
        "attributes": ("attributes", _attributes(depth)),
        "droppedAttributesCount": ("dropped_attributes_count", scalar.UINT32),
    }


_VALUES: Final[Mapping[str, tuple[str, Callable[[int], Read]]]] = {
    "stringValue": ("string_value", lambda _: scalar.text),
    "boolValue": ("bool_value", lambda _: scalar.flag),
    "intValue": ("int_value", lambda _: scalar.INT64),
    "doubleValue": ("double_value", lambda _: scalar.double),
    "arrayValue": ("array_value", cache(_array)),
    "kvlistValue": ("kvlist_value", cache(_map)),
    "bytesValue": ("bytes_value", lambda _: scalar.base64_bytes),
}
_RESOURCE: Final = _message(Resource, _common(3))
_SCOPE: Final = _message(
    InstrumentationScope, {**_common(4), "name": ("name", scalar.text), "version": ("version", scalar.text)}
)
_IDS: Final[Fields] = {
    "traceId": ("trace_id", scalar.hex_id(TRACE_ID_BYTES)),
    "spanId": ("span_id", scalar.hex_id(SPAN_ID_BYTES)),
    "traceState": ("trace_state", scalar.text),
    "flags": ("flags", scalar.UINT32),
}
_EVENT: Final = _message(
    Span.Event, {**_common(5), "timeUnixNano": ("time_unix_nano", scalar.UINT64), "name": ("name", scalar.text)}
)
_STATUS: Final = _message(Status, {"message": ("message", scalar.text), "code": ("code", scalar.status_code)})
_SPAN: Final = _message(
    Span,
    {
        **_common(4),
        **_IDS,
        "parentSpanId": ("parent_span_id", scalar.hex_id(SPAN_ID_BYTES)),
        "name": ("name", scalar.text),
        "kind": ("kind", scalar.kind),
        "startTimeUnixNano": ("start_time_unix_nano", scalar.UINT64),
        "endTimeUnixNano": ("end_time_unix_nano", scalar.UINT64),
        "events": ("events", _list(_EVENT)),
        "droppedEventsCount": ("dropped_events_count", scalar.UINT32),
        "links": ("links", _list(_message(Span.Link, {**_common(5), **_IDS}))),
        "droppedLinksCount": ("dropped_links_count", scalar.UINT32),
        "status": ("status", _STATUS),
    },
)
