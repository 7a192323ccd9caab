"""Both transports as one thing to start and stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from spanwise_collector.otlp.limits import SpanLimits
from spanwise_collector.receiver.entrance import Entrance
from spanwise_collector.receiver.intake import Forward, Intake
from spanwise_collector.receiver.memory import MemoryGuard
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

    def __init__(
        self,
        store: Store,
        settings: ReceiverSettings | None = None,
        entrance: Entrance | None = None,
        *,
        forward: Forward | None = None,
    ) -> None:
        settings = settings or ReceiverSettings()
        entrance = entrance or Entrance.of(settings)
        self._store = store
        self._memory = MemoryGuard(settings.max_memory_bytes)
        self._intake = Intake(store, _limits(settings), entrance.redaction, forward, self._memory)
        self._redaction = entrance.redaction
        settings = replace(settings, max_in_flight_bytes=min(settings.max_in_flight_bytes, self._memory.limit // 4))
        self._grpc = GrpcServer(self._intake, settings, entrance)
        self._http = HttpServer(self._intake, settings, entrance)

    def start(self) -> Bound:
        """Listen on both ports; raises OSError, with nothing left open, if one is taken."""
        grpc = self._grpc.start()
        try:
            bound = Bound(grpc, self._http.start())
        except OSError:
            self._grpc.stop()
            raise
        self._store.economise(self._memory.limit // 2)
        self._memory.start()
        return bound

    @property
    def trouble(self) -> str | None:
        """Why requests are refused now whatever the store says; None if they are not."""
        return self._memory.trouble

    def redactions(self) -> Mapping[str, int]:
        """What was taken out of spans, by kind of rule (see Redaction.counts)."""
        return self._redaction.counts() if self._redaction else {}

    def stop(self) -> None:
        """Stop taking in; every request that was taken in is answered first."""
        self._http.stop()
        self._grpc.stop()
        self._memory.stop()

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Counters by transport and what was counted (see Intake.counts)."""
        return self._intake.counts()


def _limits(settings: ReceiverSettings) -> SpanLimits:
    return SpanLimits(
        attributes=settings.max_attributes,
        events=settings.max_events,
        links=settings.max_links,
        value_bytes=settings.max_value_bytes,
        value_depth=settings.max_value_depth,
    )
