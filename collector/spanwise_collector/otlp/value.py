"""Values out of OTLP messages and typed columns, as Python objects with their type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from spanwise.semconv import HOST_NAME, PROCESS_PID, SERVICE_INSTANCE_ID, SERVICE_NAME
from spanwise_collector.otlp.twin import mended
from spanwise_collector.otlp.typed import ValueType
from spanwise_collector.span import Attributes, Value

UNKNOWN_SERVICE: Final = "unknown_service"


def attributes(entries: Iterable[Mapping[str, Any]]) -> dict[str, Value]:
    """Attributes from typed columns (typed.py); of a repeated key the last one counts."""
    return {entry["key"]: value(entry["type"], entry["text"], entry["body"]) for entry in entries}


def value(kind: int, text: str | None, body: bytes | None) -> Value:
    """One value; bytes that are not the array or map they were sent as stay bytes, and broken texts are mended."""
    if text is not None:
        return _scalar(kind, text)
    if kind == ValueType.NULL:
        return None
    if body is None or kind == ValueType.BYTES:
        return body
    try:
        return _nested(kind, body)
    except DecodeError:
        return _mended(kind, body)


def _mended(kind: int, body: bytes) -> Value:
    try:
        right, _ = mended(body, ArrayValue if kind == ValueType.ARRAY else KeyValueList)
    except DecodeError:
        return body
    return _nested(kind, right)


def _scalar(kind: int, text: str) -> Value:
    match kind:
        case ValueType.BOOL:
            return text == "true"
        case ValueType.INT:
            return int(text)
        case ValueType.DOUBLE:
            return float(text)
    return text


def _nested(kind: int, body: bytes) -> Value:
    if kind == ValueType.ARRAY:
        return [plain(item) for item in ArrayValue.FromString(body).values]
    return pairs(KeyValueList.FromString(body).values)


def pairs(entries: Iterable[KeyValue]) -> dict[str, Value]:
    """Attributes from the official message classes."""
    return {entry.key: plain(entry.value) for entry in entries}


def plain(message: AnyValue) -> Value:
    """One AnyValue; None if no member is set."""
    member = message.WhichOneof("value")
    if member == "array_value":
        return [plain(item) for item in message.array_value.values]
    if member == "kvlist_value":
        return pairs(message.kvlist_value.values)
    found: Value = getattr(message, member) if member else None
    return found


def resource_attributes(body: bytes | None) -> dict[str, Value]:
    """Attributes of a serialized Resource; empty if there is none or it cannot be read."""
    try:
        return pairs(Resource.FromString(body or b"").attributes)
    except DecodeError:
        return {}


def scope(body: bytes | None) -> tuple[str, str]:
    """Name and version of a serialized InstrumentationScope."""
    try:
        message = InstrumentationScope.FromString(body or b"")
    except DecodeError:
        return "", ""
    return message.name, message.version


def service(resource: Attributes) -> str:
    """Service name of a resource, ``unknown_service`` if it has none."""
    name = resource.get(SERVICE_NAME)
    return name if isinstance(name, str) and name else UNKNOWN_SERVICE


def process(resource: Attributes) -> str:
    """What identifies the clock: the instance id, else host and pid, else the service."""
    instance, host, pid = (resource.get(name) for name in (SERVICE_INSTANCE_ID, HOST_NAME, PROCESS_PID))
    if isinstance(instance, str) and instance:
        return instance
    return f"{host}:{pid}" if host and pid else service(resource)
