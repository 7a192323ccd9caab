"""What both transports do with a request: count it, decode it, queue it."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from enum import StrEnum
from typing import Final, TypeAlias

from spanwise_collector.otlp.decode import Parcel, decode
from spanwise_collector.otlp.limits import UNLIMITED, Cut, SpanLimits
from spanwise_collector.otlp.redaction import Redaction
from spanwise_collector.otlp.signal import LOGS, METRICS, Signal
from spanwise_collector.receiver.memory import MemoryGuard
from spanwise_collector.store import Accepted, Overloaded, Store

Reading: TypeAlias = Callable[..., Parcel]

RETRY_AFTER_S: Final = (1, 3)  # 0 makes some exporters fire all their attempts at once


Forward: TypeAlias = Callable[[bytes, int], None]  # a stored request as protobuf, and the spans in it


class Outcome(StrEnum):
    """What became of spans and requests; with Cut (limits.py) what is counted."""

    ACCEPTED = "accepted"  # spans
    REJECTED = "rejected"  # spans, by partial success
    REFUSED_SPANS = "refused_spans"  # for now; their sender may send them again
    REFUSED = "refused"  # requests, for now
    FAILED = "failed"  # requests, for good
    UNAUTHENTICATED = "unauthenticated"  # requests without a token that counts
    DATA_POINTS = "data_points"  # taken in, not stored
    LOG_RECORDS = "log_records"  # taken in, not stored


_ITEMS: Final = {METRICS.name: Outcome.DATA_POINTS, LOGS.name: Outcome.LOG_RECORDS}


class Intake:
    """The way into the store; used by all receiving threads."""

    def __init__(
        self,
        store: Store,
        limits: SpanLimits = UNLIMITED,
        redaction: Redaction | None = None,
        forward: Forward | None = None,
        memory: MemoryGuard | None = None,
    ) -> None:
        self._store = store
        self._limits = limits
        self._redact = redaction.redacted if redaction else None
        self._forward = forward
        self._memory = memory
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def admit(self, nbytes: int = 0) -> None:
        """Raise Overloaded if there is no memory for a request of this size now."""
        if self._memory:
            self._memory.admit(nbytes)

    def take(self, body: bytes, transport: str, read: Reading = decode) -> Future[Accepted]:
        """Decode and queue one trace request; raises Malformed or Overloaded, as the future may."""
        self.admit(len(body))
        parcel = read(body, self._limits, redact=self._redact)
        try:
            future = self._store.deliver(parcel)
        except Overloaded:
            self.count(transport, Outcome.REFUSED_SPANS, parcel.spans)
            raise
        future.add_done_callback(lambda done: self._count_spans(transport, parcel, done))
        if self._forward:
            future.add_done_callback(_passing_on(self._forward, parcel.request or body))
        return future

    def set_aside(self, body: bytes, transport: str, signal: Signal, *, document: bool = False) -> None:
        """Read and count one request of metrics or logs; raises Malformed."""
        number = signal.count_document(body) if document else signal.count(body)
        self.count(transport, _ITEMS[signal.name], number)

    def count(self, transport: str, outcome: Outcome | Cut, number: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[transport, outcome] += number

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Counters by transport (grpc, http) and Outcome or Cut."""
        with self._lock:
            return dict(self._counts)

    def _count_spans(self, transport: str, parcel: Parcel, done: Future[Accepted]) -> None:
        if done.cancelled() or done.exception() is not None:
            self.count(transport, Outcome.REFUSED_SPANS, parcel.spans)
            return
        self.count(transport, Outcome.ACCEPTED, parcel.spans)
        self.count(transport, Outcome.REJECTED, parcel.rejected)
        for cut, number in parcel.cuts.items():
            self.count(transport, cut, number)


def _passing_on(forward: Forward, request: bytes) -> Callable[[Future[Accepted]], None]:
    """Forwards the request once it is committed, and never otherwise."""

    def pass_on(done: Future[Accepted]) -> None:
        if not done.cancelled() and done.exception() is None and done.result().spans:
            forward(request, done.result().spans)

    return pass_on


def retry_after_s() -> int:
    """Seconds to ask a sender to wait; spread, so that senders do not return in step."""
    return random.randint(*RETRY_AFTER_S)  # noqa: S311  # jitter, not a secret
