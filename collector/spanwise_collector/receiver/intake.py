"""What both transports do with a request: count it, decode it, queue it."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from enum import StrEnum
from typing import Final, TypeAlias

from spanwise_collector.otlp.decode import Malformed, Parcel, decode
from spanwise_collector.store import Accepted, Overloaded, Store

RETRY_AFTER_S: Final = (1, 3)  # 0 makes some exporters fire all their attempts at once


Forward: TypeAlias = Callable[[bytes, int], None]  # a stored request as protobuf, and the spans in it


class Outcome(StrEnum):
    """What became of spans, metric and log requests."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"  # single spans, by partial success
    REFUSED = "refused"  # whole requests, for now
    FAILED = "failed"  # whole requests, for good
    IGNORED = "ignored"  # metrics and logs: taken in, not stored


class Intake:
    """The way into the store; used by all receiving threads."""

    def __init__(self, store: Store, forward: Forward | None = None) -> None:
        self._store = store
        self._forward = forward
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def take(self, body: bytes, transport: str, read: Callable[[bytes], Parcel] = decode) -> Future[Accepted]:
        """Decode and queue one trace request; raises Malformed or Overloaded, as the future may."""
        try:
            parcel = read(body)
            future = self._store.deliver(parcel)
        except Malformed:
            self.count(transport, Outcome.FAILED)
            raise
        except Overloaded:
            self.count(transport, Outcome.REFUSED)
            raise
        future.add_done_callback(lambda done: self._count_spans(transport, done))
        if self._forward:
            future.add_done_callback(_passing_on(self._forward, parcel.request or body))
        return future

    def count(self, transport: str, outcome: Outcome, number: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[transport, outcome] += number

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Counters by transport (grpc, http) and outcome: spans for accepted and rejected, else requests."""
        with self._lock:
            return dict(self._counts)

    def _count_spans(self, transport: str, done: Future[Accepted]) -> None:
        if done.cancelled() or done.exception() is not None:
            self.count(transport, Outcome.REFUSED)
            return
        accepted = done.result()
        self.count(transport, Outcome.ACCEPTED, accepted.spans)
        self.count(transport, Outcome.REJECTED, accepted.rejected)


def _passing_on(forward: Forward, request: bytes) -> Callable[[Future[Accepted]], None]:
    """Forwards the request once it is committed, and never otherwise."""

    def pass_on(done: Future[Accepted]) -> None:
        if not done.cancelled() and done.exception() is None and done.result().spans:
            forward(request, done.result().spans)

    return pass_on


def retry_after_s() -> int:
    """Seconds to ask a sender to wait; spread, so that senders do not return in step."""
    return random.randint(*RETRY_AFTER_S)  # noqa: S311  # jitter, not a secret
