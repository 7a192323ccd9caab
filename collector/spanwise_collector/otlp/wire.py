"""The trace request as our decoder sees it: OTLP's field numbers, own names, no recursion.

Three liberties keep the schema finite and the columns few, and all are wire-compatible:
``AnyValue``'s array and map stay serialized bytes (they are the recursive ones), its members are *optional* so that an
empty string, 0 and false differ from no value, and resource and scope stay bytes because each is stored once by
content.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

_PACKAGE: Final = "spanwise.otlp"
_SCALARS: Final = {
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
    "fixed32": FieldDescriptorProto.TYPE_FIXED32,
    "fixed64": FieldDescriptorProto.TYPE_FIXED64,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "string": FieldDescriptorProto.TYPE_STRING,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
}


class _Field(NamedTuple):
    number: int
    name: str
    type: str  # a scalar, or a message of this file; "?" after it is optional, "*" repeated


_MESSAGES: Final[dict[str, list[_Field]]] = {
    "Value": [
        _Field(1, "string", "string?"),
        _Field(2, "bool", "bool?"),
        _Field(3, "int", "int64?"),
        _Field(4, "double", "double?"),
        _Field(5, "array", "bytes?"),
        _Field(6, "map", "bytes?"),
        _Field(7, "bytes", "bytes?"),
    ],
    "Pair": [_Field(1, "key", "string"), _Field(2, "value", "Value")],
    "Event": [
        _Field(1, "time_ns", "fixed64"),
        _Field(2, "name", "string"),
        _Field(3, "attributes", "Pair*"),
        _Field(4, "dropped_attributes", "uint32"),
    ],
    "Link": [
        _Field(1, "trace_id", "bytes"),
        _Field(2, "span_id", "bytes"),
        _Field(3, "trace_state", "string"),
        _Field(4, "attributes", "Pair*"),
        _Field(5, "dropped_attributes", "uint32"),
        _Field(6, "flags", "fixed32"),
    ],
    "Status": [_Field(2, "message", "string"), _Field(3, "code", "int32")],
    "Span": [
        _Field(1, "trace_id", "bytes"),
        _Field(2, "span_id", "bytes"),
        _Field(3, "trace_state", "string"),
        _Field(4, "parent_id", "bytes"),
        _Field(5, "name", "string"),
        _Field(6, "kind", "int32"),
        _Field(7, "start_ns", "fixed64"),
        _Field(8, "end_ns", "fixed64"),
        _Field(9, "attributes", "Pair*"),
        _Field(10, "dropped_attributes", "uint32"),
        _Field(11, "events", "Event*"),
        _Field(12, "dropped_events", "uint32"),
        _Field(13, "links", "Link*"),
        _Field(14, "dropped_links", "uint32"),
        _Field(15, "status", "Status"),
        _Field(16, "flags", "fixed32"),
    ],
    "ScopeSpans": [_Field(1, "scope", "bytes?"), _Field(2, "spans", "Span*"), _Field(3, "schema_url", "string")],
    "ResourceSpans": [
        _Field(1, "resource", "bytes?"),
        _Field(2, "scope_spans", "ScopeSpans*"),
        _Field(3, "schema_url", "string"),
    ],
    "Request": [_Field(1, "resource_spans", "ResourceSpans*")],
}


def request_descriptor() -> Descriptor:
    """The descriptor of the whole request, in a pool of its own so that official classes may live beside it."""
    file = FileDescriptorProto(name="spanwise/otlp.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        _declare(file.message_type.add(name=name), fields)
    pool = DescriptorPool()
    pool.Add(file)
    return pool.FindMessageTypeByName(f"{_PACKAGE}.Request")


def _declare(message: DescriptorProto, fields: Iterable[_Field]) -> None:
    for number, name, declared in fields:
        field = message.field.add(name=name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        if declared.endswith("*"):
            field.label = FieldDescriptorProto.LABEL_REPEATED
        if declared.endswith("?"):
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{name}")
        _set_type(field, declared.rstrip("*?"))


def _set_type(field: FieldDescriptorProto, declared: str) -> None:
    if declared in _SCALARS:
        field.type = _SCALARS[declared]
    else:
        field.type = FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{declared}"
