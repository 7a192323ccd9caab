"""Serialized trace requests to nested Arrow; the only place that knows ptars (docs/adr/0003-decode-path.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import ptars
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from spanwise_collector.otlp.cut import cut
from spanwise_collector.otlp.limits import UNLIMITED, Cut, SpanLimits, words
from spanwise_collector.otlp.twin import mended
from spanwise_collector.otlp.wire import request_descriptor

Mask: TypeAlias = npt.NDArray[np.bool_]
Redact: TypeAlias = Callable[[bytes], bytes]

TRACE_ID_BYTES: Final = 16
SPAN_ID_BYTES: Final = 8
BAD_IDS: Final = "a span needs a traceId of 16 bytes and a spanId of 8 bytes (32 and 16 hex digits), not all zero"


class Malformed(ValueError):
    """The request is not OTLP; sending it again will not help. ``field`` is where it is wrong, empty if unknown."""

    def __init__(self, reason: str, field: str = "") -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.reason = reason
        self.field = field


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """One decoded request: ``resource_spans`` is a list array of ResourceSpans (wire.py) with one element.

    ``cuts`` tells how much of the spans was left out or changed, ``message`` why, and why spans were rejected.
    """

    resource_spans: pa.ListArray
    spans: int  # those with valid ids
    rejected: int
    nbytes: int
    message: str = ""
    cuts: Mapping[Cut, int] = field(default_factory=dict)
    request: bytes = b""
    """The request as protobuf where that is not what was sent: JSON, or what was mended, redacted or cut."""


def decode(request: bytes, limits: SpanLimits = UNLIMITED, *, redact: Redact | None = None) -> Parcel:
    """Decode one serialized ExportTraceServiceRequest; raises Malformed if it is not one.

    Texts that are no UTF-8 are mended and spans over a limit are cut, where protobuf would refuse everything.
    ``redact`` takes out of its bytes what must not be kept (redaction.py).
    """
    sent = request
    cuts: Counter[Cut] = Counter()
    try:
        column = _column(request)
    except Malformed:
        request, cuts[Cut.TEXT] = _mended(request)
        column = _column(request)
    if redact is not None:
        request = redact(request)
        column = _column(request)
    if limits.exceeded(_spans(column)):
        request, more = _cut(request, limits)
        cuts += more
        column = _column(request)
    valid = valid_ids(_spans(column))
    kept = int(valid.sum())
    rejected = len(valid) - kept
    message = "; ".join([*([BAD_IDS] if rejected else []), *words(cuts)])
    return Parcel(column, kept, rejected, len(sent), message, cuts, b"" if request is sent else request)


def _column(request: bytes) -> pa.ListArray:
    try:
        column = _handler().list_to_record_batch([request]).column(0)
        _check(Resource, column.values.field("resource"))
        _check(InstrumentationScope, column.values.field("scope_spans").values.field("scope"))
    except (ValueError, DecodeError) as error:
        raise _malformed(error) from error
    return column


def _check(official: type[Message], bodies: pa.BinaryArray) -> None:
    """What is stored as it came must be readable, too; a request has few of them."""
    for body in set(bodies.to_pylist()):
        official.FromString(body or b"")


def _mended(request: bytes) -> tuple[bytes, int]:
    try:
        return mended(request, ExportTraceServiceRequest)
    except DecodeError as error:
        raise _malformed(error) from error


def _cut(request: bytes, limits: SpanLimits) -> tuple[bytes, Counter[Cut]]:
    try:
        return cut(request, limits)
    except DecodeError as error:  # a group that ends as another one, which only our decoder passes over
        raise _malformed(error) from error


def _malformed(error: Exception) -> Malformed:
    return Malformed(f"the body is no ExportTraceServiceRequest: {error}")


def valid_ids(spans: pa.StructArray) -> Mask:
    """Per span whether both ids have their length and are not all zero."""
    valid: Mask = _are_ids(spans.field("trace_id"), TRACE_ID_BYTES) & _are_ids(spans.field("span_id"), SPAN_ID_BYTES)
    return valid


def _are_ids(ids: pa.BinaryArray, length: int) -> Mask:
    fits: Mask = pc.binary_length(ids).to_numpy() == length
    if len(ids) and fits.all():
        _, offsets, data = ids.buffers()
        first = np.frombuffer(offsets, np.int32)[ids.offset]
        digits = np.frombuffer(data, np.uint8)[first : first + len(ids) * length]
        return np.asarray(digits.reshape(-1, length).any(axis=1), dtype=np.bool_)
    zero: Mask = pc.equal(ids, pa.scalar(bytes(length), pa.binary())).to_numpy(zero_copy_only=False)
    return np.asarray(fits & ~zero, dtype=np.bool_)


def _spans(resource_spans: pa.ListArray) -> pa.StructArray:
    # The values of fresh arrays are what ``flatten`` would copy.
    return resource_spans.values.field("scope_spans").values.field("spans").values


@cache
def _handler() -> Any:
    descriptor = request_descriptor()
    return ptars.HandlerPool([descriptor.file]).get_for_message(descriptor)
