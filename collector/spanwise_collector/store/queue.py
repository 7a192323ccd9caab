"""What waits for the writer thread, bounded by bytes and spans."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import duckdb

from spanwise_collector.otlp.decode import Parcel
from spanwise_collector.store.accepted import Accepted, Overloaded
from spanwise_collector.store.ledgers import LedgerRow
from spanwise_collector.store.rowset import Rowset

_FULL: Final = "the write queue is full"
_CLOSING: Final = "the store is closing"

Work: TypeAlias = Callable[[duckdb.DuckDBPyConnection], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the queue, of one commit, and how long a full queue is waited for."""

    queue_bytes: int = 256 * 2**20
    queue_spans: int = 200_000
    commit_spans: int = 16_384
    patience_s: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Delivery:
    """A decoded request and the promise to answer it."""

    parcel: Parcel
    future: Future[Accepted] = field(default_factory=Future)


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """Some deliveries and the rows that they become; None where that failed or there are none."""

    deliveries: Sequence[Delivery]
    rows: Rowset | None

    @property
    def spans(self) -> int:
        """Spans in all of them."""
        return sum(delivery.parcel.spans for delivery in self.deliveries)


@dataclass(frozen=True, slots=True, eq=False)
class Save:
    """Ledgers to store, the batches after and up to which some are to be retired, and the promise to say when it is."""

    rows: tuple[LedgerRow, ...] = ()
    retire: tuple[int, int] | None = None
    future: Future[None] = field(default_factory=Future)


@dataclass(frozen=True, slots=True, eq=False)
class Chore:
    """A bounded step of housekeeping, which removes this many spans; resolves to how many seconds it took."""

    work: Work
    removes: int = 0
    future: Future[float] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class Load:
    """What waits: requests, their bytes and spans; and how much may."""

    requests: int
    nbytes: int
    spans: int
    limits: Limits


class Queue:
    """Deliveries on their way from many senders to the thread that makes rows of them, and on to the one that writes.

    Saves go straight to the writer.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._deliveries: deque[Delivery] = deque()
        self._portions: deque[Portion] = deque()
        self._saves: deque[Save | Chore] = deque()
        self._requests = 0
        self._nbytes = 0
        self._spans = 0
        self._closed = False
        self._welcome = True
        self._changed = threading.Condition()

    def offer(self, delivery: Delivery) -> None:
        """Queue a delivery; raises Overloaded when there is no room for it within the patience, or after close."""
        deadline = time.monotonic() + self._limits.patience_s
        with self._changed:
            while not self._closed and not self._room(delivery.parcel):
                if not self._changed.wait(deadline - time.monotonic()):
                    raise Overloaded(_FULL)
            self._refuse_if_closed()
            self._deliveries.append(delivery)
            self._count(delivery.parcel, 1)
            self._changed.notify_all()

    def save(self, save: Save | Chore) -> None:
        """Queue ledgers, or a step of housekeeping; raises Overloaded after close."""
        with self._changed:
            self._refuse_if_closed()
            self._saves.append(save)
            self._changed.notify_all()

    def unpack(self) -> list[Delivery]:
        """Wait for deliveries and take as many as one commit may hold; none once closed and drained.

        Nothing is given out before it is ``welcome``: many requests become rows in less time together than singly.
        """
        with self._changed:
            while True:
                self._changed.wait_for(lambda: (self._deliveries and self._welcome) or self._closed)
                taken = self._some()
                if taken or self._closed:
                    self._welcome = False
                    return taken

    def welcome(self) -> None:
        """The writer now waits for the disk, or for work: this is the moment to make rows."""
        with self._changed:
            self._welcome = True
            self._changed.notify_all()

    def ready(self, portion: Portion) -> None:
        """What was unpacked can be written."""
        with self._changed:
            self._portions.append(portion)
            self._changed.notify_all()

    def take(self, timeout_s: float | None = None) -> tuple[list[Portion], list[Save | Chore]]:
        """Wait for work and take as much as one commit may hold; two empty lists mean ``drained``, or none in time."""
        with self._changed:
            if not self._portions:
                self._welcome = True
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._portions or self._saves or self._drained(), timeout_s)
            saves = list(self._saves)
            self._saves.clear()
            return self._ready(), saves

    def done(self, portions: Sequence[Portion]) -> None:
        """These are answered; their room is free."""
        with self._changed:
            for delivery in (delivery for portion in portions for delivery in portion.deliveries):
                self._count(delivery.parcel, -1)
            self._changed.notify_all()

    def close(self) -> None:
        """Refuse new work; what was taken in stays."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def load(self) -> Load:
        """What waits or is being written."""
        with self._changed:
            return Load(self._requests, self._nbytes, self._spans, self._limits)

    @property
    def drained(self) -> bool:
        """Closed, and nothing waits."""
        with self._changed:
            return self._drained()

    @property
    def trouble(self) -> str | None:
        """Why a usual request would not be taken in at once; None if it would."""
        with self._changed:
            if self._closed:
                return _CLOSING
            full = self._nbytes >= self._limits.queue_bytes or self._spans >= self._limits.queue_spans
            return _FULL if full else None

    def _drained(self) -> bool:
        return self._closed and not self._requests and not self._saves

    def _room(self, parcel: Parcel) -> bool:
        # One request larger than the whole queue must still pass when nothing else waits.
        fits_bytes = self._nbytes + parcel.nbytes <= self._limits.queue_bytes
        fits_spans = self._spans + parcel.spans <= self._limits.queue_spans
        return self._nbytes == 0 or (fits_bytes and fits_spans)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise Overloaded(_CLOSING)

    def _some(self) -> list[Delivery]:
        taken: list[Delivery] = []
        spans = 0
        while self._deliveries and (not taken or spans < self._limits.commit_spans):
            delivery = self._deliveries.popleft()
            if delivery.future.cancelled():  # nobody waits for it any more; its sender will send it again
                self._count(delivery.parcel, -1)
                self._changed.notify_all()
                continue
            taken.append(delivery)
            spans += delivery.parcel.spans
        return taken

    def _ready(self) -> list[Portion]:
        taken: list[Portion] = []
        spans = 0
        while self._portions and (not taken or spans < self._limits.commit_spans):
            taken.append(self._portions.popleft())
            spans += taken[-1].spans
        return taken

    def _count(self, parcel: Parcel, sign: int) -> None:
        self._requests += sign
        self._nbytes += sign * parcel.nbytes
        self._spans += sign * parcel.spans
