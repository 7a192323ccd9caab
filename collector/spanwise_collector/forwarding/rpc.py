"""OTLP/gRPC to a target, compressed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from spanwise_collector.forwarding.target import Target
from spanwise_collector.forwarding.verdict import TAKEN, Outcome, Verdict, bounded

_EXPORT: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_OPTIONS: Final = [("grpc.max_reconnect_backoff_ms", 5_000), ("grpc.initial_reconnect_backoff_ms", 500)]
_RETRYABLE: Final = frozenset({"CANCELLED", "ABORTED", "OUT_OF_RANGE", "DATA_LOSS"})
_SILENT: Final = frozenset({"DEADLINE_EXCEEDED", "UNAVAILABLE"})
_BARE: Final = "google.rpc.retryinfo-bin"
_STATUS: Final = "grpc-status-details-bin"


class RpcSender:
    """One target over gRPC; used in the event loop that made it."""

    def __init__(self, target: Target, headers: Mapping[str, str], timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._metadata = tuple(headers.items())
        more: dict[str, Any] = {"options": _OPTIONS, "compression": grpc.Compression.Gzip}
        if target.secure:
            self._channel = grpc.aio.secure_channel(target.url, grpc.ssl_channel_credentials(), **more)
        else:
            self._channel = grpc.aio.insecure_channel(target.url, **more)
        self._export = self._channel.unary_unary(_EXPORT)

    async def send(self, body: bytes) -> Verdict:
        """Hand over one serialized request."""
        try:
            await self._export(body, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            return _verdict(error)
        return TAKEN

    async def close(self) -> None:
        """Close its connection."""
        await self._channel.close()


def _verdict(error: grpc.aio.AioRpcError) -> Verdict:
    code = error.code().name
    reason = f"{code}: {error.details()}"
    wait = _wait_s(error)
    if code in _SILENT and wait is None:
        return Verdict(Outcome.SILENT, reason)
    if code in _RETRYABLE | _SILENT or (code == "RESOURCE_EXHAUSTED" and wait is not None):
        return Verdict(Outcome.BUSY, reason, wait)
    return Verdict(Outcome.REFUSED, reason)


def _wait_s(error: grpc.aio.AioRpcError) -> float | None:
    trailers = dict(error.trailing_metadata() or ())
    try:
        info = _info(trailers)
    except DecodeError:
        return None
    return None if info is None else bounded(info.retry_delay.seconds + info.retry_delay.nanos / 1e9)


def _info(trailers: Mapping[str, Any]) -> Any:
    """The RetryInfo among the trailers, by itself or within the status."""
    info: Any = error_details_pb2.RetryInfo()
    if _BARE in trailers:
        info.ParseFromString(trailers[_BARE])
        return info
    for detail in status_pb2.Status.FromString(trailers.get(_STATUS, b"")).details:
        if detail.Unpack(info):
            return info
    return None
