"""Answers in the encoding of the request: protobuf or JSON, success and error alike."""

from __future__ import annotations

import json
from typing import Any, Final

from google.protobuf import duration_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from spanwise_collector.store import Accepted

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
_CODES: Final = {
    400: code_pb2.INVALID_ARGUMENT,
    401: code_pb2.UNAUTHENTICATED,
    403: code_pb2.PERMISSION_DENIED,
    404: code_pb2.UNIMPLEMENTED,
    405: code_pb2.UNIMPLEMENTED,
    413: code_pb2.RESOURCE_EXHAUSTED,
    415: code_pb2.INVALID_ARGUMENT,
    503: code_pb2.UNAVAILABLE,
}


def success(accepted: Accepted, media_type: str = PROTOBUF) -> bytes:
    """An export response; ``partial_success`` is set only when spans were rejected."""
    if media_type == JSON:
        return json.dumps({"partialSuccess": _partial(accepted)} if accepted.rejected else {}).encode()
    response = ExportTraceServiceResponse()
    if accepted.rejected:
        partial = ExportTracePartialSuccess(rejected_spans=accepted.rejected, error_message=accepted.message)
        response.partial_success.CopyFrom(partial)
    return bytes(response.SerializeToString())


def _partial(accepted: Accepted) -> dict[str, str]:
    return {"rejectedSpans": str(accepted.rejected), "errorMessage": accepted.message}


def failure(status: int, message: str, media_type: str) -> bytes:
    """A google.rpc.Status for an HTTP status."""
    code = _CODES.get(status, code_pb2.UNKNOWN)
    if media_type == PROTOBUF:
        return bytes(status_pb2.Status(code=code, message=message).SerializeToString())
    return json.dumps({"code": code, "message": message}).encode()


def retry_trailers(message: str, delay_s: int) -> tuple[tuple[str, bytes], ...]:
    """Trailers that ask for a later retry: the standard one and the one that Python's exporter reads."""
    info: Any = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=delay_s))
    status: Any = status_pb2.Status(code=code_pb2.UNAVAILABLE, message=message)
    status.details.add().Pack(info)
    return (
        ("google.rpc.retryinfo-bin", info.SerializeToString()),
        ("grpc-status-details-bin", status.SerializeToString()),
    )
