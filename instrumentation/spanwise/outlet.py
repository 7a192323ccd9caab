"""The way out: ended spans are queued, sent by one thread, counted, and never keep the program from exiting."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from itertools import chain, repeat
from weakref import WeakSet

from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter

from spanwise.backlog import Backlog, Weighed
from spanwise.batching import Batching
from spanwise.bell import Bell
from spanwise.reach import Reach, Unknown
from spanwise.shipment import MAX_REQUEST_BYTES, Outcome, Shipment
from spanwise.tally import Tally

CLOSE_LIMIT = 1.5  # s: what an exit may wait for a collector that is away
_PAUSES = (0.1, 0.25, 0.5, 1.0, 2.0)  # s between two looks for a collector that is away; the last again and again
_REST = 0.1  # s: what a fork may wait for the thread to be out of the way
_LOOKED = 1.0  # s: for so long whoever asks for a flush need not have us look again
_NAME = "spanwise-outlet"

_log = logging.getLogger("spanwise")


class Outlet:
    """Bounded queue and sending thread around one exporter.

    As long as nobody listens at the other end spans are kept, the latest ones if there are too many. What is not
    taken by somebody who listens is lost.
    """

    def __init__(self, make: Callable[[], SpanExporter], reach: Reach | None = None) -> None:
        """``make`` is called once here, and once in each child of fork that sends something."""
        self._shipment = Shipment(make)
        self._reach = reach or Unknown()
        self._batching = Batching.from_environ(os.environ)
        self._closed = False
        self._begin()
        self._start()  # now, since an interpreter that ends starts no more threads
        _outlets.add(self)

    def _begin(self) -> None:
        self._backlog, self._tally = Backlog(self._batching.queued), Tally()
        self._lock = threading.RLock()  # the collection of garbage may end a span while one is being put in
        self._settled = threading.Condition(self._lock)
        self._wake, self._hurry, self._closing = Bell(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._resting = False
        self._sure = False  # whether the last delivery was taken
        self._away_since = 0.0  # when we last looked and nobody was there; 0 where somebody is

    @property
    def lost(self) -> int:
        """Spans that were put in and will not be delivered any more, so far."""
        return self._tally.lost

    def put(self, span: ReadableSpan) -> None:
        """Queue one ended span."""
        with self._lock:
            if self._closed:
                return
            self._tally.put(self._backlog.put(span))
            full = len(self._backlog) >= self._batching.spans
            self._start()
        if full and not self._wake.rung:
            self._wake.ring()

    def flush(self, limit: float = CLOSE_LIMIT) -> bool:
        """Send what is queued; False where nobody takes it, or where it took longer than ``limit`` seconds."""
        deadline = time.monotonic() + limit
        with self._lock:
            target = self._tally.given
            if self._away_since and time.monotonic() - self._away_since < _LOOKED:
                return self._tally.settled >= target
            self._away_since = 0.0
            self._start()
            self._hurry.set()
            self._wake.ring()
            self._settled.wait_for(lambda: self._tally.settled >= target or self._away_since, _left(deadline))
            return self._tally.settled >= target

    def close(self, limit: float = CLOSE_LIMIT) -> None:
        """Send what is queued and stop; gives up after ``limit`` seconds without progress and says what was lost."""
        with self._lock:
            if self._closed:
                return
            if len(self._backlog):
                self._start()
            self._closed = True
        self._closing.set()
        self._hurry.set()
        self._wake.ring()
        if self._tally.settled < self._tally.given and self._reach.refuses():
            self._shipment.stop()  # it may be pausing between two tries of its own for longer than an exit may take
        self._join(limit)
        self._shipment.stop()
        if self._tally.unsent:
            _log.warning("%d spans were lost: %s", self._tally.unsent, self._tally.reason())

    def rest(self) -> None:
        """Have nothing queued and no thread while this process forks, if that can be had soon.

        A child waits for ever for what a thread holds that it does not have. Python also warns of forks beside other
        threads, and the program may have none but ours.
        """
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return
        self._resting = True
        self._hurry.set()
        self._wake.ring()
        thread.join(_REST)

    def go_on(self) -> None:
        """After the fork, in the parent."""
        with self._lock:
            rested, self._resting = self._resting, False
            if rested and len(self._backlog):  # else the next span starts it
                self._start()

    def renew(self) -> None:
        """Begin anew in a child of fork: what the parent has queued the parent sends. The thread starts when needed."""
        self._shipment.renew()
        self._begin()

    def _join(self, limit: float) -> None:
        thread, delivered = self._thread, -1
        if thread is None:
            self._drain()  # there can be no thread any more, and seldom is there anything that waits for it
            return
        while thread.is_alive() and delivered < self._tally.sent:
            delivered = self._tally.sent
            thread.join(limit)

    def _start(self) -> None:
        if self._thread is not None or self._closed:
            return
        thread = threading.Thread(target=self._run, name=_NAME, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # there can be no more threads now; the next span tries again
            return
        self._thread = thread

    def _run(self) -> None:
        with suppress_instrumentation():
            while not self._closing.is_set():
                self._wake.wait(self._batching.delay_ms / 1000)
                self._drain()
                if self._rests():
                    return
            self._drain()

    def _rests(self) -> bool:
        """Whether the thread that asks shall end for a fork; it is started again after it."""
        with self._lock:
            rests = self._resting and not self._closed
            if rests:
                self._thread = None
            return rests

    def _drain(self) -> None:
        while batch := self._next():
            if not self._deliver(batch):
                return

    def _next(self) -> list[Weighed]:
        with self._lock:
            return self._backlog.take(self._batching.spans, MAX_REQUEST_BYTES)

    def _deliver(self, batch: list[Weighed]) -> bool:
        """Whether the batch has come to its end; else it waits again."""
        pauses = chain(_PAUSES, repeat(_PAUSES[-1]))
        while (outcome := self._tried(batch)) is None:
            if self._closing.is_set():
                outcome = Outcome(refused=True)
                break
            if self._resting:
                with self._lock:
                    self._backlog.restore(batch)
                return False
            self._hurry.wait(next(pauses))
            self._hurry.clear()
        with self._lock:
            self._away_since = 0.0
            self._tally.settle(len(batch), outcome)
            self._settled.notify_all()
        return True

    def _tried(self, batch: list[Weighed]) -> Outcome | None:
        """What became of the batch; None where nobody is there to take it."""
        if self._sure or self._there():
            outcome = self._shipment.send(batch)
            self._sure = not outcome.refused
            if self._sure or self._there():
                return outcome
        with self._lock:
            self._away_since = time.monotonic()
            self._settled.notify_all()
        return None

    def _there(self) -> bool:
        # A receiver that is slow to accept is better tried than asked once more when there is no later.
        return not self._reach.refuses() if self._closing.is_set() else self._reach.listens()


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


_outlets: WeakSet[Outlet] = WeakSet()


def _each(work: Callable[[Outlet], None]) -> Callable[[], None]:
    def done() -> None:
        for outlet in list(_outlets):
            work(outlet)

    return done


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_each(Outlet.rest), after_in_parent=_each(Outlet.go_on), after_in_child=_each(Outlet.renew)
    )
