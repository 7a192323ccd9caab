"""The official messages with bytes where they have text, to read what is sound but for texts that are no UTF-8."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import Default, DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

_FILES: Final = (common_pb2, resource_pb2, trace_pb2, trace_service_pb2)


def mended(body: bytes, official: type[Message]) -> tuple[bytes, int]:
    """The message with U+FFFD where its texts are no UTF-8, and the number of these; DecodeError if it is none."""
    message = twin(official).FromString(body)
    count = _mend(message)
    return message.SerializeToString(), count


def twin(official: type[Message]) -> Any:
    """The class that reads the same bytes as this one and leaves texts undecoded."""
    return _class(official.DESCRIPTOR.full_name)


@cache
def _class(name: str) -> Any:
    return GetMessageClass(_pool().FindMessageTypeByName(name))


def _mend(message: Message) -> int:
    return sum(_mend_field(message, field, value) for field, value in message.ListFields())


def _mend_field(message: Message, field: FieldDescriptor, value: Any) -> int:
    repeated = field.is_repeated
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return sum(map(_mend, value if repeated else (value,)))
    if not _is_text(field.full_name):
        return 0
    texts = list(value) if repeated else [value]
    right = [text.decode(errors="replace").encode() for text in texts]
    if right == texts:
        return 0
    if repeated:
        value[:] = right
    else:
        setattr(message, field.name, right[0])
    return sum(text != found for text, found in zip(right, texts, strict=True))


@cache
def _is_text(name: str) -> bool:
    return bool(Default().FindFieldByName(name).type == FieldDescriptor.TYPE_STRING)


@cache
def _pool() -> DescriptorPool:
    pool = DescriptorPool()
    for module in _FILES:
        file = FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        for message in _messages(file.message_type):
            for field in message.field:
                if field.type == FieldDescriptorProto.TYPE_STRING:
                    field.type = FieldDescriptorProto.TYPE_BYTES
        pool.Add(file)
    return pool


def _messages(declared: Iterable[DescriptorProto]) -> Iterable[DescriptorProto]:
    for message in declared:
        yield message
        yield from _messages(message.nested_type)
