"""The one thread that writes: several requests per commit, each answered after it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import duckdb

from spanwise_collector.store.accepted import Accepted, Overloaded
from spanwise_collector.store.batch import Rows
from spanwise_collector.store.queue import Chore, Delivery, Queue, Save
from spanwise_collector.store.saving import retire, save
from spanwise_collector.store.tally import Tally

_log = logging.getLogger(__name__)


class Writer:
    """Takes from the queue until it is closed and drained."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, queue: Queue, tally: Tally) -> None:
        self._cursor = cursor
        self._queue = queue
        self._rows = Rows(cursor)
        self._tally = tally
        self._thread = threading.Thread(target=self._run, name="spanwise-writer", daemon=True)
        self.healthy = True

    def start(self) -> None:
        """Begin writing."""
        self._thread.start()

    def join(self) -> None:
        """Wait until everything that was queued is answered, then give up the cursor."""
        self._thread.join()
        self._cursor.close()

    def _run(self) -> None:
        while True:
            deliveries, saves = self._queue.take()
            if not deliveries and not saves:
                return
            self._write(deliveries)
            self._queue.done(deliveries)
            for each in saves:
                if isinstance(each, Chore):
                    self._chore(each)
                else:
                    self._save(each)

    def _write(self, deliveries: Sequence[Delivery]) -> None:
        try:
            self._commit(deliveries)
        except Exception as error:  # noqa: BLE001  # whatever it is, every waiting sender needs an answer
            self._write_singly(deliveries, error)

    def _write_singly(self, deliveries: Sequence[Delivery], error: Exception) -> None:
        """One request that cannot be stored must not take the others of its commit with it."""
        if len(deliveries) > 1:
            for delivery in deliveries:
                self._write([delivery])
            return
        _log.error("a request could not be stored", exc_info=error)
        self.healthy = False
        for delivery in deliveries:
            _fail(delivery.future, error)

    def _commit(self, deliveries: Sequence[Delivery]) -> None:
        kept = [delivery.parcel for delivery in deliveries if delivery.parcel.spans]
        if kept:
            self._transact(lambda: self._rows.append(kept, seq=self._tally.seq + 1, arrived_ns=time.time_ns()))
            self._rows.keep()
            self._tally.add(sum(parcel.spans for parcel in kept))
        self.healthy = True
        for delivery in deliveries:
            parcel = delivery.parcel
            _resolve(delivery.future, Accepted(parcel.spans, parcel.rejected, parcel.message))
        if kept:
            self._retire()

    def _retire(self) -> None:
        # Only a cache: if it fails, the next save of these conversations tries again.
        try:
            retire(self._cursor, self._tally.seq)
        except duckdb.Error:
            _log.exception("superseded ledgers could not be removed")

    def _save(self, request: Save) -> None:
        try:
            self._transact(lambda: save(self._cursor, request.rows))
        except Exception as error:  # noqa: BLE001  # as in _write
            _log.exception("ledgers could not be stored")
            _fail(request.future, error)
        else:
            _resolve(request.future, None)

    def _chore(self, chore: Chore) -> None:
        began = time.perf_counter()
        try:
            self._transact(lambda: chore.work(self._cursor))
        except Exception as error:  # noqa: BLE001  # whoever asked for it hears of it
            if chore.future.set_running_or_notify_cancel():
                chore.future.set_exception(error)
        else:
            self._tally.remove(chore.removes)
            _resolve(chore.future, time.perf_counter() - began)

    def _transact(self, work: Any) -> None:
        self._cursor.begin()
        try:
            work()
            self._cursor.commit()
        except BaseException:
            self._rows.forget()
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        try:
            self._cursor.rollback()
        except duckdb.Error:
            _log.debug("nothing to roll back", exc_info=True)


def _resolve(future: Future[Any], result: object) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(result)


def _fail(future: Future[Any], error: Exception) -> None:
    if future.set_running_or_notify_cancel():
        failure = Overloaded(f"the database could not be written: {error}")
        failure.__cause__ = error
        future.set_exception(failure)
