"""OTLP/JSON to the bytes that protobuf senders send, read strictly by the mapping's rules.

Hex ids in any case, lowerCamelCase keys only, unknown keys ignored, 64-bit integers as digits or as number, null as
absent. Structure that is broken is Malformed and names the field; a span that is itself unusable is left out
and counted, and so is an attribute that is nested deeper than protobuf can carry.
``google.protobuf.json_format`` cannot be used: it reads ids as base64 and refuses unknown keys and lone surrogates.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from google.protobuf.message import Error as MessageError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    EntityRef,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from spanwise_collector.otlp import scalar
from spanwise_collector.otlp.decode import SPAN_ID_BYTES, TRACE_ID_BYTES, Malformed, Parcel, Redact, decode
from spanwise_collector.otlp.limits import UNLIMITED, Cut, SpanLimits, words
from spanwise_collector.otlp.scalar import BadSpan, Read

Fields: TypeAlias = Mapping[str, tuple[str, Read]]  # JSON key: field of the message, reader

# The official classes cannot write messages nested deeper than this.
_DEEPEST: Final = 102
_UINT32: Final = 2**32 - 1
_PAIR: Final = 2  # keys of an attribute
_SHORT: Final = 100  # characters of an attribute that is likely to come again
# Keys that cannot be ignored: everything below them would be lost without a word.
_MISNAMED: Final = {"resource_spans": "resourceSpans", "batches": "resourceSpans", "scope_spans": "scopeSpans"}


class _TooDeep(ValueError):
    """Protobuf cannot carry this value."""


@dataclass(slots=True)
class _Findings:
    faults: list[str] = field(default_factory=list)  # why spans are left out
    deep: int = 0  # attributes that are left out


def decode_document(body: bytes, limits: SpanLimits = UNLIMITED, *, redact: Redact | None = None) -> Parcel:
    """Decode one OTLP/JSON trace request as ``decode`` does; raises Malformed, naming the field, if it is not one."""
    findings = _Findings()
    try:
        body = _request(findings)(json.loads(body.decode("utf-8-sig")), "").SerializeToString()
    except BadSpan as error:
        raise Malformed(str(error)) from error
    except Malformed:
        raise
    except MessageError as error:
        raise Malformed(f"protobuf cannot carry this: {error}") from error
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error
    parcel = decode(body, limits, redact=redact)
    deep = Counter({Cut.DEPTH: findings.deep} if findings.deep else {})
    message = "; ".join(filter(None, [parcel.message, *findings.faults[:1], *words(deep)]))
    return replace(
        parcel,
        rejected=parcel.rejected + len(findings.faults),
        message=message,
        cuts=deep + Counter(parcel.cuts),
        request=parcel.request or body,
    )


def _request(findings: _Findings) -> Read:
    scope = _holder(
        InstrumentationScope, 4, findings, {"name": ("name", scalar.text), "version": ("version", scalar.text)}
    )
    scope_spans = _message(
        ScopeSpans,
        {
            "scope": ("scope", scope),
            "instrumentationLibrary": ("scope", scope),
            "spans": ("spans", _spans(findings)),
            "schemaUrl": ("schema_url", scalar.text),
        },
    )
    resource_spans = _message(
        ResourceSpans,
        {
            "resource": ("resource", _holder(Resource, 3, findings, _ENTITIES)),
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
            if key in fields and inner is not None:
                field, read_field = fields[key]
                entry = read_field(inner, f"{where}.{key}" if where else key)
                # Two keys may name one field: what is repeated is kept from both, else the last one counts.
                found[field] = [*found[field], *entry] if field in found and isinstance(entry, list) else entry
            elif key in _MISNAMED:
                raise Malformed(f"OTLP/JSON calls this {_MISNAMED[key]}", f"{where}.{key}" if where else key)
        return build(**found)

    return read


def _list(read: Read) -> Read:
    def read_all(value: Any, where: str) -> list[Any]:
        return [read(item, f"{where}[{index}]") for index, item in enumerate(scalar.items(value, where))]

    return read_all


def _spans(findings: _Findings) -> Read:
    read_span = _span(findings)

    def read(value: Any, where: str) -> list[Span]:
        spans = []
        for index, item in enumerate(scalar.items(value, where)):
            try:
                spans.append(read_span(item, f"{where}[{index}]"))
            except BadSpan as error:
                findings.faults.append(str(error))
        return spans

    return read


def _span(findings: _Findings) -> Read:
    event = {"timeUnixNano": ("time_unix_nano", scalar.UINT64), "name": ("name", scalar.text)}
    fields: Fields = {
        **_IDS,
        "parentSpanId": ("parent_span_id", scalar.hex_id(SPAN_ID_BYTES)),
        "name": ("name", scalar.text),
        "kind": ("kind", scalar.kind),
        "startTimeUnixNano": ("start_time_unix_nano", scalar.UINT64),
        "endTimeUnixNano": ("end_time_unix_nano", scalar.UINT64),
        "events": ("events", _list(_holder(Span.Event, 5, findings, event))),
        "droppedEventsCount": ("dropped_events_count", scalar.UINT32),
        "links": ("links", _list(_holder(Span.Link, 5, findings, _IDS))),
        "droppedLinksCount": ("dropped_links_count", scalar.UINT32),
        "status": ("status", _STATUS),
    }
    return _holder(Span, 4, findings, fields)


def _holder(build: Callable[..., Any], depth: int, findings: _Findings, fields: Fields) -> Read:
    """Reads a message with attributes that lies ``depth`` messages deep, the request being the first."""
    read_pair = _pair(depth)

    def read_or_drop(item: Any, where: str) -> KeyValue | None:
        try:
            pair: KeyValue = _plain(item) or read_pair(item, where)
        except _TooDeep:
            findings.deep += 1
            return None
        return pair

    common: Fields = {
        "attributes": ("attributes", _list(read_or_drop)),
        "droppedAttributesCount": ("dropped_attributes_count", scalar.UINT32),
    }
    return _message(_counting(build), {**common, **fields})


def _plain(item: Any) -> KeyValue | None:
    """Nearly every attribute: exactly a key and one text or number; None leaves anything else to the slower readers."""
    try:
        key, value = item["key"], item["value"]
        ((kind, inner),) = value.items()
        if len(item) == _PAIR and type(key) is str and type(inner) is _PLAIN[kind]:  # a bool would count as an int
            again = type(inner) is str and len(inner) < _SHORT  # not a number: 0.0 would come again as -0.0
            return _pair_again(key, kind, inner) if again else _pair_of(key, kind, inner)
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    return None


def _pair_of(key: str, kind: str, inner: Any) -> KeyValue:
    member: dict[str, Any] = {_VALUES[kind][0]: int(inner) if kind == "intValue" else inner}
    return KeyValue(key=key, value=AnyValue(**member))


_pair_again = lru_cache(maxsize=8192)(_pair_of)


def _counting(build: Callable[..., Any]) -> Callable[..., Any]:
    """Builds the message from the attributes that are there and counts the others as dropped."""

    def built(*, attributes: Sequence[KeyValue | None] = (), dropped_attributes_count: int = 0, **found: Any) -> Any:
        kept = [each for each in attributes if each is not None]
        dropped = min(dropped_attributes_count + len(attributes) - len(kept), _UINT32)
        return build(attributes=kept, dropped_attributes_count=dropped, **found)

    return built


@cache
def _value(depth: int) -> Read:
    """Reads an AnyValue that lies ``depth`` messages deep; nothing recognised in it, or null, is no value."""

    def read(value: Any, where: str) -> AnyValue:
        if depth > _DEEPEST:
            raise _TooDeep
        found = {}
        for key, inner in scalar.mapping(value, where).items():
            if key in _VALUES and inner is not None:
                field, read_member = _VALUES[key]
                found = {field: read_member(depth)(inner, f"{where}.{key}")}
        return AnyValue(**found)

    return read


def _array(depth: int) -> Read:
    return _message(ArrayValue, {"values": ("values", _list(_value(depth + 2)))})


def _map(depth: int) -> Read:
    return _message(KeyValueList, {"values": ("values", _list(_pair(depth + 1)))})


@cache
def _pair(depth: int) -> Read:
    """Reads an attribute of a message that lies ``depth`` messages deep."""
    return _message(KeyValue, {"key": ("key", scalar.text), "value": ("value", _value(depth + 2))})


_VALUES: Final[Mapping[str, tuple[str, Callable[[int], Read]]]] = {
    "stringValue": ("string_value", lambda _: scalar.text),
    "boolValue": ("bool_value", lambda _: scalar.flag),
    "intValue": ("int_value", lambda _: scalar.INT64),
    "doubleValue": ("double_value", lambda _: scalar.double),
    "arrayValue": ("array_value", cache(_array)),
    "kvlistValue": ("kvlist_value", cache(_map)),
    "bytesValue": ("bytes_value", lambda _: scalar.base64_bytes),
}
_PLAIN: Final = {"stringValue": str, "intValue": str, "doubleValue": float}
_ENTITIES: Final[Fields] = {
    "entityRefs": (
        "entity_refs",
        _list(
            _message(
                EntityRef,
                {
                    "schemaUrl": ("schema_url", scalar.text),
                    "type": ("type", scalar.text),
                    "idKeys": ("id_keys", _list(scalar.text)),
                    "descriptionKeys": ("description_keys", _list(scalar.text)),
                },
            )
        ),
    )
}
_IDS: Final[Fields] = {
    "traceId": ("trace_id", scalar.hex_id(TRACE_ID_BYTES)),
    "spanId": ("span_id", scalar.hex_id(SPAN_ID_BYTES)),
    "traceState": ("trace_state", scalar.text),
    "flags": ("flags", scalar.UINT32),
}
_STATUS: Final = _message(Status, {"message": ("message", scalar.text), "code": ("code", scalar.status_code)})
