"""Deletes the oldest batches by age and by size, in steps so small that no sender notices."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from spanwise_collector.store import hours, pruning
from spanwise_collector.store.accepted import Overloaded
from spanwise_collector.store.ledgers import Range
from spanwise_collector.store.queue import Work
from spanwise_collector.store.store import Store
from spanwise_collector.store.usage import Usage

_log = logging.getLogger(__name__)

_DAY_NS: Final = 86_400_000_000_000
_STEP_SPANS: Final = 65_536  # deleted at once: some 10 ms
_STEP_LEDGERS: Final = 256  # frozen at once: likewise


@dataclass(frozen=True, slots=True)
class Policy:
    """What is kept: spans by age and size, and by age what outlives them, answers and hours; 0 keeps everything.

    Spans age from their arrival, answers and hours from the start of the conversation. ``nbytes`` bounds what the
    database uses of its file; free blocks in it are used again, and the write-ahead file comes on top.
    """

    days: float = 0
    nbytes: int = 0
    aggregate_days: float = 0

    @property
    def bounded(self) -> bool:
        """Whether anything is ever deleted."""
        return any((self.days, self.nbytes, self.aggregate_days))


class Ending(Exception):
    """The process was told to end; what is not deleted yet will be next time."""


class Retention:
    """Applies a policy from ``start`` to ``stop``.

    ``accounted`` tells up to which batch ledgers were computed; nothing newer is deleted, so no conversation is lost
    before it was looked at.
    """

    def __init__(self, store: Store, policy: Policy, accounted: Callable[[], int], *, every_s: float = 2.0) -> None:
        self._store = store
        self._reader = store.reader()
        self._policy = policy
        self._accounted = accounted
        self._every_s = every_s
        self._usage = Usage(self._reader.blocks)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spanwise-retention", daemon=True)

    def start(self) -> None:
        """Begin, if there is anything to delete, ever."""
        if self._policy.bounded:
            self._thread.start()

    def stop(self) -> None:
        """End after the step that is being done; idempotent."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def round(self) -> int:
        """Delete what the policy lets go now; returns the number of spans. Raises Ending or Overloaded at the end."""
        deleted = 0
        for old in merged(self._old(time.time_ns())):
            self._freeze(self._reader.changed(old.first - 1, old.last))
            self._do(partial(pruning.drop, old=old), spans=old.spans)
            self._usage.freed(old.spans)
            deleted += old.spans
        if deleted:
            self._tidy()
        self._forget(time.time_ns())
        return deleted

    def _run(self) -> None:
        try:
            self._do(pruning.prepare)
            while not self._ending.wait(self._every_s):
                self._try_round()
        except (Ending, Overloaded):
            return

    def _try_round(self) -> None:
        try:
            self.round()
        except (Ending, Overloaded):
            raise
        except Exception:  # noqa: BLE001  # tried again: nothing but the next round depends on it
            _log.exception("old spans could not be deleted; this is tried again")

    def _old(self, now_ns: int) -> list[Range]:
        """Batches to delete, oldest first: those past their age, and as many as are too many."""
        last = 0
        if self._policy.days:
            last = self._reader.arrived_before(now_ns - int(self._policy.days * _DAY_NS))
        if self._policy.nbytes:
            excess = self._usage.excess_spans(self._policy.nbytes, self._reader.stored())
            last = max(last, self._reader.holding(excess) if excess else 0)
        return self._reader.batches(min(last, self._accounted()))

    def _freeze(self, names: Sequence[str]) -> None:
        while ledgers := self._reader.thawed(names, limit=_STEP_LEDGERS):
            self._do(partial(pruning.freeze, ledgers=ledgers, hourly=self._reader.hourly(ledgers)))

    def _tidy(self) -> None:
        for hour in self._reader.loose_hours():
            self._do(partial(hours.condense, hour=hour))
        if self._policy.nbytes:
            # Answers without spans may take as much of the sequence again as the spans do, then they go, too.
            oldest, newest = self._reader.oldest(), self._reader.seq()
            self._do(partial(pruning.forget_answers, before_seq=2 * oldest - newest))

    def _forget(self, now_ns: int) -> None:
        if self._policy.aggregate_days:
            before_ns = now_ns - int(self._policy.aggregate_days * _DAY_NS)
            self._do(partial(pruning.forget_answers, started_before_ns=before_ns))
            self._do(partial(pruning.forget_hours, before_ns=before_ns))

    def _do(self, work: Work, *, spans: int = 0) -> float:
        """Have the writer do this between two commits; returns the seconds that took."""
        if self._ending.is_set():
            raise Ending
        return self._store.chore(work, removes=spans).result()


def merged(batches: Iterable[Range]) -> Iterator[Range]:
    """Neighbours together, up to what one step may delete."""
    found: Range | None = None
    for each in batches:
        if found and found.spans + each.spans <= _STEP_SPANS:
            found = Range(found.first, each.last, found.spans + each.spans)
        else:
            if found:
                yield found
            found = each
    if found:
        yield found
