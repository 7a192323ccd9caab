"""Both transports as one thing to start and stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spanwise_collector.receiver.intake import Forward, Intake
from spanwise_collector.receiver.rpc import GrpcServer
from spanwise_collector.receiver.server import HttpServer
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Store


@dataclass(frozen=True, slots=True)
class Bound:
    """Where the receiver listens: ``host:port`` for gRPC, a base URL for HTTP."""

    grpc: str
    http: str


class Receiver:
    """Takes OTLP in until it is stopped; the store stays open."""

    def __init__(self, store: Store, settings: ReceiverSettings | None = None, forward: Forward | None = None) -> None:
        self._intake = Intake(store, forward)
        self._grpc = GrpcServer(self._intake, settings or ReceiverSettings())
        self._http = HttpServer(self._intake, settings or ReceiverSettings())

    def start(self) -> Bound:
        """Listen on both ports; raises OSError, with nothing left open, if one is taken."""
        grpc = self._grpc.start()
        try:
            return Bound(grpc, self._http.start())
        except OSError:
            self._grpc.stop()
            raise

    def stop(self) -> None:
        """Stop taking in; every request that was taken in is answered first."""
        self._http.stop()
        self._grpc.stop()

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Counters by transport and outcome (see Intake.counts)."""
        return self._intake.counts()
