"""How deep the arrays and maps of a value are nested."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.common.v1.common_pb2 import ArrayValue, KeyValueList

from spanwise_collector.otlp.twin import twin

NESTED: Final[dict[str, type[Message]]] = {"array": ArrayValue, "map": KeyValueList}  # by member of Value (wire.py)
_UNREADABLE: Final = 1_000  # deeper than protobuf carries


def levels(body: bytes, member: str) -> int:
    """Levels of a serialized array or map, itself included; a thousand if protobuf cannot carry them."""
    try:
        return _levels(twin(NESTED[member]).FromString(body))
    except DecodeError:
        return _UNREADABLE


def _levels(message: Any) -> int:
    is_map = message.DESCRIPTOR.name == "KeyValueList"
    return 1 + max((_of_value(item.value if is_map else item) for item in message.values), default=0)


def _of_value(message: Any) -> int:
    member = message.WhichOneof("value")
    return _levels(getattr(message, member)) if member in ("array_value", "kvlist_value") else 0
