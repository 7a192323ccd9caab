"""Answers in the encoding of the request: protobuf or JSON, success and error alike."""

from __future__ import annotations

import json
from typing import Any, Final

from google.protobuf import duration_pb2, json_format
from google.rpc import code_pb2, error_details_pb2, status_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from spanwise_collector.store import Accepted

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
STATUS_DETAILS: Final = "grpc-status-details-bin"
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
# Keeps an answer far below the 4 MiB that clients read, and the trailers of gRPC below the 8 KiB that it carries.
_LONGEST: Final = 512


def success(accepted: Accepted, media_type: str = PROTOBUF) -> bytes:
    """An export response; ``partial_success`` is set only when something was rejected or cut."""
    message = brief(accepted.message)
    partial = bool(accepted.rejected or message)
    if media_type == JSON:
        told = {"rejectedSpans": str(accepted.rejected), "errorMessage": message}
        return json.dumps({"partialSuccess": told} if partial else {}).encode()
    response = ExportTraceServiceResponse()
    if partial:
        response.partial_success.CopyFrom(
            ExportTracePartialSuccess(rejected_spans=accepted.rejected, error_message=message)
        )
    return bytes(response.SerializeToString())


def failure(status: int, message: str, media_type: str, field: str | None = None) -> bytes:
    """A google.rpc.Status for an HTTP status; with a BadRequest that names the field where the request is at fault."""
    found = _status(_CODES.get(status, code_pb2.UNKNOWN), message, field)
    if media_type == PROTOBUF:
        return bytes(found.SerializeToString())
    return json.dumps(json_format.MessageToDict(found)).encode()


def invalid_trailers(message: str, field: str) -> tuple[tuple[str, bytes], ...]:
    """Trailers that tell what was wrong with a request."""
    return ((STATUS_DETAILS, _status(code_pb2.INVALID_ARGUMENT, message, field).SerializeToString()),)


def retry_trailers(message: str, delay_s: int) -> tuple[tuple[str, bytes], ...]:
    """Trailers that ask for a later retry: the standard one and the one that Python's exporter reads."""
    info: Any = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=delay_s))
    status = _status(code_pb2.UNAVAILABLE, message)
    status.details.add().Pack(info)
    return (
        ("google.rpc.retryinfo-bin", info.SerializeToString()),
        (STATUS_DETAILS, status.SerializeToString()),
    )


def brief(message: str) -> str:
    """The message, or its beginning: it may quote what somebody sent."""
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."


def _status(code: int, message: str, field: str | None = None) -> Any:
    status: Any = status_pb2.Status(code=code, message=brief(message))
    if field is not None:
        violation = error_details_pb2.BadRequest.FieldViolation(field=brief(field), description=brief(message))
        status.details.add().Pack(error_details_pb2.BadRequest(field_violations=[violation]))
    return status
