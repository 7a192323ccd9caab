"""The real receiver and its database, as long as a test needs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spanwise_collector.receiver import Bound, Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.span import Span
from spanwise_collector.store import Store


@dataclass(frozen=True, slots=True)
class Collecting:
    """Where to send to, and what came."""

    bound: Bound
    store: Store

    def spans(self, conversation: str) -> list[Span]:
        """All spans of the traces that hold the conversation."""
        return self.store.reader().spans(conversation)


@contextmanager
def collecting(folder: Path) -> Iterator[Collecting]:
    """Receive inside the block, on ports of the system's choice, into a file in ``folder``."""
    store = Store.open(folder / "spans.duckdb")
    receiver = Receiver(store, ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0))
    try:
        yield Collecting(receiver.start(), store)
    finally:
        receiver.stop()
        store.close()
