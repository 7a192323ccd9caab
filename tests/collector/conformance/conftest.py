"""A collector with a small size limit, and a sender of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest
from tests.collector.conformance.peer import CODINGS, JSON, PROTOBUF, GrpcPeer, HttpPeer, Peer

from spanwise_collector.receiver import Bound, Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Limits, Store

LIMIT: Final = 200_000
PEERS: Final = [f"{kind}-{coding}" for kind in ("grpc", "protobuf", "json") for coding in CODINGS]


@dataclass(frozen=True, slots=True)
class Collector:
    """A running receiver and its store."""

    store: Store
    receiver: Receiver
    bound: Bound

    def peer(self, name: str) -> Peer:
        """The sender of this name."""
        kind, coding = name.split("-")
        if kind == "grpc":
            return GrpcPeer(self.bound.grpc, coding)
        media_type = JSON if kind == "json" else PROTOBUF
        return HttpPeer(self.bound.http.removeprefix("http://"), media_type, coding)


@pytest.fixture(scope="session")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """One for all rows."""
    store = Store.open(tmp_path_factory.mktemp("conformance") / "spans.db")
    receiver = Receiver(store, ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0, max_message_bytes=LIMIT))
    yield Collector(store, receiver, receiver.start())
    receiver.stop()
    store.close()


@pytest.fixture(scope="session")
def overloaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """One that has no room for anything: its store is closing."""
    store = Store.open(tmp_path_factory.mktemp("overloaded") / "spans.db", Limits(patience_s=0))
    receiver = Receiver(store, ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0))
    bound = receiver.start()
    store.close()
    yield Collector(store, receiver, bound)
    receiver.stop()
