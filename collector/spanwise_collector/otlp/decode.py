"""Serialized trace requests to nested Arrow; the only place that knows ptars (docs/adr/0003-decode-path.md)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import ptars
import pyarrow as pa
import pyarrow.compute as pc

from spanwise_collector.otlp.wire import request_descriptor

Mask: TypeAlias = npt.NDArray[np.bool_]

TRACE_ID_BYTES: Final = 16
SPAN_ID_BYTES: Final = 8
BAD_IDS: Final = "a span needs a traceId of 16 bytes and a spanId of 8 bytes (32 and 16 hex digits), not all zero"


class Malformed(ValueError):
    """The request is not OTLP; sending it again will not help."""


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """One decoded request: ``resource_spans`` is a list array of ResourceSpans (wire.py) with one element."""

    resource_spans: pa.ListArray
    spans: int  # those with valid ids
    rejected: int
    nbytes: int
    message: str = ""
    request: bytes = b""
    """The request as protobuf where it came in another encoding."""


def decode(request: bytes) -> Parcel:
    """Decode one serialized ExportTraceServiceRequest; raises Malformed if it is not one."""
    try:
        batch = _handler().list_to_record_batch([request])
    except ValueError as error:
        raise Malformed(str(error)) from error
    column = batch.column(0)
    valid = valid_ids(_spans(column))
    kept = int(valid.sum())
    rejected = len(valid) - kept
    return Parcel(column, kept, rejected, len(request), BAD_IDS if rejected else "")


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
    scopes = resource_spans.flatten().field("scope_spans").flatten()
    return scopes.field("spans").flatten()


@cache
def _handler() -> Any:
    descriptor = request_descriptor()
    return ptars.HandlerPool([descriptor.file]).get_for_message(descriptor)
