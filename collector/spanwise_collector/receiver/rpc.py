"""OTLP/gRPC: raw bytes in and out, so that a body which is no protobuf gets the right status."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from typing import Any, Final, Never, TypeAlias

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from spanwise_collector.otlp.decode import Malformed
from spanwise_collector.otlp.signal import LOGS, METRICS, Signal
from spanwise_collector.receiver import answer
from spanwise_collector.receiver.entrance import Entrance
from spanwise_collector.receiver.gate import Gate
from spanwise_collector.receiver.intake import Intake, Outcome, retry_after_s
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Overloaded

Export: TypeAlias = Callable[[bytes, Any], bytes]

TRANSPORT: Final = "grpc"
_COLLECTOR: Final = "opentelemetry.proto.collector"
_TRACES: Final = f"{_COLLECTOR}.trace.v1.TraceService"
_ASIDE: Final = {
    f"{_COLLECTOR}.metrics.v1.MetricsService": METRICS,
    f"{_COLLECTOR}.logs.v1.LogsService": LOGS,
}
_CONCURRENT: Final = 1024  # requests in work or waiting for a thread, so that a burst is absorbed


class GrpcServer:
    """OTLP/gRPC from ``start`` to ``stop``."""

    def __init__(self, intake: Intake, settings: ReceiverSettings, entrance: Entrance) -> None:
        self._intake = intake
        self._settings = settings
        self._tls = entrance.tls
        self._executor = ThreadPoolExecutor(settings.grpc_workers, thread_name_prefix="spanwise-otlp-grpc")
        self._health = health.HealthServicer()
        self._server = grpc.server(
            self._executor,
            options=[("grpc.max_receive_message_length", settings.max_message_bytes), ("grpc.so_reuseport", 0)],
            maximum_concurrent_rpcs=_CONCURRENT,
            interceptors=[Gate(entrance.access, lambda: intake.count(TRANSPORT, Outcome.UNAUTHENTICATED))],
        )
        self._register()

    def start(self) -> str:
        """Bind and serve; returns host and port. Raises OSError if the port is taken."""
        host = f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
        wanted = f"{host}:{self._settings.otlp_grpc_port}"
        try:
            port = self._add_port(wanted)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {wanted}: {error}") from error
        self._server.start()
        return f"{host}:{port}"

    def stop(self) -> None:
        """Refuse new requests, answer running ones, then close."""
        self._health.enter_graceful_shutdown()
        self._server.stop(self._settings.stop_grace_s).wait()
        self._executor.shutdown()

    def _add_port(self, wanted: str) -> int:
        if self._tls is None:
            return int(self._server.add_insecure_port(wanted))
        return int(self._server.add_secure_port(wanted, self._tls.credentials()))

    def _register(self) -> None:
        handlers = [
            _service(_TRACES, self._export),
            *(_service(name, self._set_aside(signal)) for name, signal in _ASIDE.items()),
        ]
        self._server.add_generic_rpc_handlers(handlers)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name in ("", _TRACES):
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    def _export(self, request: bytes, context: Any) -> bytes:
        deadline = time.monotonic() + self._settings.commit_wait_s
        if not context.is_active():
            return b""  # gave up while it waited for a thread, and will send again
        try:
            waiting = self._intake.take(request, TRANSPORT)
            accepted = waiting.result(max(0.0, deadline - time.monotonic()))
        except Malformed as error:
            self._fail(context, error)
        except Overloaded as error:
            self._refuse(context, str(error))
        except Late:
            waiting.cancel()
            self._refuse(context, "not committed in time; it may still be")
        return answer.success(accepted)

    def _set_aside(self, signal: Signal) -> Export:
        def export(request: bytes, context: Any) -> bytes:
            try:
                self._intake.set_aside(request, TRANSPORT, signal)
            except Malformed as error:
                self._fail(context, error)
            return b""

        return export

    def _fail(self, context: Any, error: Malformed) -> Never:
        self._intake.count(TRANSPORT, Outcome.FAILED)
        context.set_trailing_metadata(answer.invalid_trailers(str(error), error.field))
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, answer.brief(str(error)))
        raise error

    def _refuse(self, context: Any, message: str) -> Never:
        self._intake.count(TRANSPORT, Outcome.REFUSED)
        context.set_trailing_metadata(answer.retry_trailers(message, retry_after_s()))
        context.abort(grpc.StatusCode.UNAVAILABLE, answer.brief(message))
        raise Overloaded(message)


def _service(name: str, export: Export) -> Any:
    return grpc.method_handlers_generic_handler(name, {"Export": grpc.unary_unary_rpc_method_handler(export)})
