"""One database file, one writer, any number of readers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from spanwise_collector.otlp.decode import Parcel, decode
from spanwise_collector.store.accepted import Accepted
from spanwise_collector.store.cursors import Cursors
from spanwise_collector.store.ledgers import LedgerRow
from spanwise_collector.store.opening import Config, Opened, opened
from spanwise_collector.store.queue import Chore, Delivery, Limits, Load, Queue, Save, Work
from spanwise_collector.store.reader import Reader
from spanwise_collector.store.schema import migrate
from spanwise_collector.store.tally import Tally
from spanwise_collector.store.writer import Writer

_log = logging.getLogger(__name__)

_CONFIG: Final[Config] = {
    # Everything needed is built in; nothing may be fetched behind the user's back.
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # Rows are found by seq and sorted where it matters; order of arrival within a batch means nothing.
    "preserve_insertion_order": "false",
    # A checkpoint rewrites what the log holds; rarer ones cost less in all and only make a restart replay more.
    "checkpoint_threshold": "256MB",
}


class Store:
    """Keeps spans and ledgers; owns its file from ``open`` to ``close``."""

    def __init__(self, database: Opened, tally: Tally, limits: Limits) -> None:
        self._connection = database.connection
        self._tally = tally
        self._queue = Queue(limits)
        self._writer = Writer(self._connection.cursor(), self._queue, tally)
        self._cursors = Cursors(self._connection)
        self._reader = Reader(self._cursors)
        self._closed = False
        self.damage = database.damage
        """What a damaged write-ahead file lost before this start, in one sentence; None if nothing was damaged."""
        self._writer.start()

    @classmethod
    def open(cls, path: Path | str, limits: Limits | None = None) -> Store:
        """Open or create the file; raises DatabaseInUse if another process has it.

        What can be read is served even if the write-ahead file is damaged; ``damage`` then tells what is missing.
        """
        database = opened(str(path), _CONFIG)
        if database.damage:
            _log.warning("%s: %s", path, database.damage)
        migrate(database.connection)
        return cls(database, Tally(str(path), database.count), limits or Limits())

    def submit(self, request: bytes) -> Future[Accepted]:
        """Take in one serialized ExportTraceServiceRequest; the future resolves after its rows are committed.

        Raises Malformed if it is not one, Overloaded if there is no room. The future may fail with Overloaded.
        """
        return self.deliver(decode(request))

    def deliver(self, parcel: Parcel) -> Future[Accepted]:
        """Take in a decoded request, as ``submit``."""
        delivery = Delivery(parcel)
        self._queue.offer(delivery)
        return delivery.future

    def save_ledgers(self, rows: Sequence[LedgerRow]) -> Future[None]:
        """Replace the stored accounts of these conversations; the future resolves after the commit."""
        save = Save(tuple(rows))
        self._queue.save(save)
        return save.future

    def chore(self, work: Work, *, removes: int = 0) -> Future[float]:
        """Have the writer do a short piece of housekeeping, which removes this many spans, in a transaction."""
        chore = Chore(work, removes)
        self._queue.save(chore)
        return chore.future

    def reader(self) -> Reader:
        """The reader; each thread that calls it reads by its own cursor."""
        return self._reader

    @property
    def ready(self) -> bool:
        """Whether a request would be taken in now: open, writable and with room in the queue."""
        return self._writer.healthy and self._queue.has_room

    def load(self) -> Load:
        """What waits to be written."""
        return self._queue.load()

    def close(self) -> None:
        """Refuse new work, commit what was taken in, and give up the file; may be called again."""
        if self._closed:
            return
        self._closed = True
        self._queue.close()
        self._writer.join()
        self._cursors.close()
        self._connection.close()
        self._tally.close()
