"""Senders of every transport, encoding and coding, which all answer in the same terms."""

from __future__ import annotations

import gzip
import http.client
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import grpc
from google.protobuf import json_format
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from tests.collector.otlpjson import document

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
CODINGS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
}
_SERVICES: Final = {
    "traces": "trace.v1.TraceService",
    "metrics": "metrics.v1.MetricsService",
    "logs": "logs.v1.LogsService",
}
_REJECTED: Final = ("rejectedSpans", "rejectedDataPoints", "rejectedLogRecords")


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the name of the status code, the partial success, the details, and all of it in bytes."""

    code: str
    partial: tuple[int, str] | None = None
    status: Any = None
    retry_s: int | None = None
    nbytes: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def violations(self) -> list[tuple[str, str]]:
        """Fields and descriptions of the BadRequest in the details."""
        found = error_details_pb2.BadRequest()
        if self.status is None or not any(detail.Unpack(found) for detail in self.status.details):
            return []
        return [(each.field, each.description) for each in found.field_violations]


class Peer(Protocol):
    """One way to send."""

    @property
    def name(self) -> str:
        """For messages."""

    @property
    def is_json(self) -> bool:
        """Whether bodies are JSON."""

    def send(self, message: Message, signal: str = "traces") -> Reply:
        """Send a request of the official class."""

    def send_body(self, body: bytes, signal: str = "traces") -> Reply:
        """Send these bytes, compressed, as a request."""


@dataclass(frozen=True, slots=True)
class HttpPeer:
    """OTLP/HTTP."""

    netloc: str
    media_type: str
    coding: str

    @property
    def name(self) -> str:
        """For messages."""
        return f"http {self.media_type} {self.coding}"

    @property
    def is_json(self) -> bool:
        """Whether bodies are JSON."""
        return self.media_type == JSON

    def send(self, message: Message, signal: str = "traces") -> Reply:
        """Send a request of the official class."""
        body = json.dumps(document(message)).encode() if self.is_json else message.SerializeToString()
        return self.send_body(body, signal)

    def send_body(self, body: bytes, signal: str = "traces", path: str = "/v1/{}", **headers: str) -> Reply:
        """Send these bytes, compressed; further headers have ``_`` for ``-``."""
        connection = http.client.HTTPConnection(self.netloc, timeout=20)
        sent = {"Content-Type": self.media_type, "Content-Encoding": self.coding}
        sent |= {name.replace("_", "-"): text for name, text in headers.items()}
        try:
            connection.request("POST", path.format(signal), CODINGS[self.coding](body), sent)
            answer = connection.getresponse()
            return self._reply(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def _reply(self, status: int, headers: dict[str, str], body: bytes) -> Reply:
        assert headers["content-type"] == self.media_type, "answers have the type of the request"
        assert int(headers["content-length"]) == len(body)
        plain = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        if status == 200:
            return Reply("OK", self._partial(plain), nbytes=len(body), headers=headers)
        found = json_format.Parse(plain, status_pb2.Status()) if self.is_json else status_pb2.Status.FromString(plain)
        retry = headers.get("retry-after")
        return Reply(str(status), None, found, int(retry) if retry else None, len(body), headers)

    def _partial(self, body: bytes) -> tuple[int, str] | None:
        if not self.is_json:
            return _partial(ExportTraceServiceResponse.FromString(body))
        found = json.loads(body).get("partialSuccess")
        return found and (int(next(found[key] for key in _REJECTED if key in found)), found["errorMessage"])


@dataclass(frozen=True, slots=True)
class GrpcPeer:
    """OTLP/gRPC."""

    netloc: str
    coding: str

    @property
    def is_json(self) -> bool:
        """Never."""
        return False

    @property
    def name(self) -> str:
        """For messages."""
        return f"grpc {self.coding}"

    def send(self, message: Message, signal: str = "traces") -> Reply:
        """Send a request of the official class."""
        return self.send_body(message.SerializeToString(), signal)

    def send_body(self, body: bytes, signal: str = "traces") -> Reply:
        """Send these bytes, compressed."""
        service = _SERVICES.get(signal, signal)
        options = [("grpc.max_send_message_length", -1)]
        with grpc.insecure_channel(self.netloc, options=options, compression=_grpc(self.coding)) as channel:
            export = channel.unary_unary(f"/opentelemetry.proto.collector.{service}/Export")
            try:
                answer = export(body, timeout=20)
            except grpc.RpcError as error:
                return _refusal(error)
        return Reply("OK", _partial(ExportTraceServiceResponse.FromString(answer)), nbytes=len(answer))


def _grpc(coding: str) -> Any:
    return {"gzip": grpc.Compression.Gzip, "deflate": grpc.Compression.Deflate}.get(
        coding, grpc.Compression.NoCompression
    )


def _partial(response: Any) -> tuple[int, str] | None:
    if not response.HasField("partial_success"):
        return None
    return response.partial_success.rejected_spans, response.partial_success.error_message


def _refusal(error: Any) -> Reply:
    trailers = dict(error.trailing_metadata())
    details = trailers.get("grpc-status-details-bin")
    status = status_pb2.Status.FromString(details) if details is not None else None
    if status is not None:
        assert error.code().name == code_pb2.Code.Name(status.code)
        assert error.details() == status.message
    bare = trailers.get("google.rpc.retryinfo-bin")
    retry = error_details_pb2.RetryInfo.FromString(bare).retry_delay.seconds if bare else None
    return Reply(error.code().name, None, status, retry, len(error.details()) + len(details or b""))
