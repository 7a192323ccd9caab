"""The one thread that writes: several requests per commit, each answered after it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import duckdb

from spanwise_collector.store.accepted import Accepted, Overloaded
from spanwise_collector.store.batch import Rows
from spanwise_collector.store.database import Database, passing
from spanwise_collector.store.opening import ROW_GROUP, checkpoint
from spanwise_collector.store.pace import Pace
from spanwise_collector.store.queue import Chore, Delivery, Portion, Queue, Save
from spanwise_collector.store.rowset import Rowset, rowset
from spanwise_collector.store.saving import retire, save
from spanwise_collector.store.tally import Tally

T = TypeVar("T")

_log = logging.getLogger(__name__)

_CROWD: Final = 1_024  # spans that wait: as many as come only from senders that are held up by the writer
_MUCH: Final = 8 * ROW_GROUP  # spans that may lie in the write-ahead file
_PROBE_S: Final = 1.0  # between looks whether the database can be written again


class Writer:
    """Takes from the queue until it is closed and drained."""

    def __init__(self, database: Database, queue: Queue, tally: Tally) -> None:
        self._database = database
        self._cursor = database.cursor()
        self._queue = queue
        self._rows = Rows(self._cursor)
        self._tally = tally
        self._unpacking = threading.Thread(target=self._unpack, name="spanwise-rows", daemon=True)
        self._writing = threading.Thread(target=self._run, name="spanwise-writer", daemon=True)
        self._unmoved = 0
        self.pace = Pace()
        """How long commits of spans take."""
        self.trouble: str | None = None
        """Why the last write failed; None if it did not."""

    def start(self) -> None:
        """Begin writing."""
        self._unpacking.start()
        self._writing.start()

    def join(self) -> None:
        """Wait until everything that was queued is answered, then give up the cursor."""
        self._unpacking.join()
        self._writing.join()
        self._cursor.close()

    def _unpack(self) -> None:
        while deliveries := self._queue.unpack():
            self._queue.ready(_portion(deliveries))

    def _run(self) -> None:
        while True:
            portions, saves = self._queue.take(_PROBE_S)
            if self._queue.drained and not portions and not saves:
                return
            if not portions and (self.trouble or self._database.invalid):
                self._probe()
            self._write(portions)
            self._queue.done(portions)
            for each in saves:
                if isinstance(each, Chore):
                    self._chore(each)
                else:
                    self._save(each)
            if self._due():
                self._checkpoint()

    def _write(self, portions: Sequence[Portion]) -> None:
        try:
            self._commit(portions)
        except Exception as error:  # noqa: BLE001  # whatever it is, every waiting sender needs an answer
            self._write_singly([delivery for portion in portions for delivery in portion.deliveries], error)

    def _write_singly(self, deliveries: Sequence[Delivery], error: Exception) -> None:
        """One request that cannot be stored must not take the others of its commit with it."""
        if len(deliveries) > 1:
            for delivery in deliveries:
                self._write([_portion([delivery])])
            return
        if self.trouble is None:
            _log.error("a request could not be stored", exc_info=error)
        self.trouble = f"the database could not be written: {str(error).splitlines()[0]}"
        for delivery in deliveries:
            _fail(delivery.future, error)

    def _probe(self) -> None:
        """Nobody sends to a server that is not ready, so it finds out by itself when it can write again."""
        try:
            self._transact(lambda: self._cursor.execute("UPDATE migrations SET version = version"))
            self.trouble = None
        except Exception:  # noqa: BLE001  # still in trouble, whatever it is
            _log.debug("still not writable", exc_info=True)

    def _commit(self, portions: Sequence[Portion]) -> None:
        if any(portion.spans for portion in portions):
            self._append([_rows(portion) for portion in portions if portion.spans])
        for delivery in (delivery for portion in portions for delivery in portion.deliveries):
            parcel = delivery.parcel
            _resolve(delivery.future, Accepted(parcel.spans, parcel.rejected, parcel.message))

    def _append(self, rowsets: Sequence[Rowset]) -> None:
        now, began = time.time_ns(), time.perf_counter()
        # The number is read within: opening the file anew may show that the last commit was durable after all.
        spans = self._transact(lambda: self._rows.append(rowsets, seq=self._tally.seq + 1, arrived_ns=now))
        self.pace.observe(time.perf_counter() - began)
        self._rows.keep()
        self._tally.add(spans)
        self._unmoved += spans
        self.trouble = None

    def _due(self) -> bool:
        """Little and often, since it holds up the senders; less often where they wait anyway, since that costs less."""
        crowded = self._queue.load().spans > _CROWD
        return self._unmoved >= (_MUCH if crowded else ROW_GROUP)

    def _checkpoint(self) -> None:
        self._unmoved = 0
        self._queue.welcome()
        try:
            checkpoint(self._cursor)
        except duckdb.Error as error:
            self._database.heed(error)
            _log.warning("what is in the write-ahead file stays there for now: %s", str(error).splitlines()[0])

    def _save(self, request: Save) -> None:
        try:
            self._transact(lambda: self._keep(request))
            self._unmoved += len(request.rows)
        except Exception as error:  # noqa: BLE001  # as in _write
            if passing(error):
                _fail(request.future, error)
            elif request.future.set_running_or_notify_cancel():
                request.future.set_exception(error)
        else:
            _resolve(request.future, None)

    def _keep(self, request: Save) -> None:
        save(self._cursor, request.rows)
        if request.retire is not None:
            after, upto = request.retire
            retire(self._cursor, after=after, upto=upto)

    def _chore(self, chore: Chore) -> None:
        began = time.perf_counter()
        try:
            self._transact(lambda: chore.work(self._cursor))
        except Exception as error:  # noqa: BLE001  # whoever asked for it hears of it
            if chore.future.set_running_or_notify_cancel():
                chore.future.set_exception(error)
        else:
            self._tally.remove(chore.removes)
            self._unmoved += chore.removes
            _resolve(chore.future, time.perf_counter() - began)

    def _transact(self, work: Callable[[], T]) -> T:
        try:
            self._regain()
            self._cursor.begin()
            result = work()
            self._queue.welcome()
            self._cursor.commit()
        except BaseException as error:
            self._rows.forget()
            self._roll_back()
            self._database.heed(error)
            raise
        return result

    def _regain(self) -> None:
        """After a failed checkpoint or flush the engine refuses everything until the file is opened anew."""
        if self._database.reopen(self._cursor):
            self._cursor = self._database.cursor()
            self._rows = Rows(self._cursor)
            self._tally.restart(self._database.count)

    def _roll_back(self) -> None:
        try:
            self._cursor.rollback()
        except duckdb.Error:
            _log.debug("nothing to roll back", exc_info=True)


def _portion(deliveries: Sequence[Delivery]) -> Portion:
    """Its rows are missing where the requests cannot be made rows of together; the writer then tries each alone."""
    parcels = [delivery.parcel for delivery in deliveries if delivery.parcel.spans]
    try:
        return Portion(deliveries, rowset(parcels) if parcels else None)
    except Exception:  # noqa: BLE001  # as above
        _log.debug("some requests are tried singly", exc_info=True)
        return Portion(deliveries, None)


def _rows(portion: Portion) -> Rowset:
    return portion.rows or rowset([delivery.parcel for delivery in portion.deliveries if delivery.parcel.spans])


def _resolve(future: Future[Any], result: object) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(result)


def _fail(future: Future[Any], error: Exception) -> None:
    if future.set_running_or_notify_cancel():
        failure = Overloaded(f"the database could not be written: {error}")
        failure.__cause__ = error
        future.set_exception(failure)
