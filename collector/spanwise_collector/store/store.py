"""One database file, one writer, any number of readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from spanwise_collector.otlp.decode import Parcel, decode
from spanwise_collector.store.accepted import Accepted
from spanwise_collector.store.database import Database
from spanwise_collector.store.ledgers import LedgerRow
from spanwise_collector.store.opening import Config
from spanwise_collector.store.pace import Histogram
from spanwise_collector.store.query import Queries, QueryLimits
from spanwise_collector.store.queue import Chore, Delivery, Limits, Load, Queue, Save, Work
from spanwise_collector.store.reader import Reader
from spanwise_collector.store.saving import forget
from spanwise_collector.store.tally import Tally
from spanwise_collector.store.writer import Writer

_CACHE: Final = 512 * 2**20  # bytes; the system's own cache of the file is as good, and gives way to others
_CONFIG: Final[Config] = {
    "memory_limit": f"{_CACHE}B",
    # Everything needed is built in; nothing may be fetched behind the user's back.
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # Rows are found by seq and sorted where it matters; order of arrival within a batch means nothing.
    "preserve_insertion_order": "false",
    # Each query on the thread that asks: with helpers an insert of a few thousand rows takes twice the time.
    "threads": 1,
    # The writer does it, where it holds up nobody for long.
    "checkpoint_threshold": "1TB",
}


class Store:
    """Keeps spans and ledgers; owns its file from ``open`` to ``close``."""

    def __init__(self, database: Database, tally: Tally, limits: Limits) -> None:
        self._database = database
        self._tally = tally
        self._queue = Queue(limits)
        self._writer = Writer(database, self._queue, tally)
        self._reader = Reader(database.cursors)
        self._closed = False
        self._writer.start()

    @classmethod
    def open(cls, path: Path | str, limits: Limits | None = None) -> Store:
        """Open or create the file; raises DatabaseInUse if another process has it.

        What can be read is served even if a file is damaged; ``damage`` then tells what is missing.
        """
        database = Database(str(path), _CONFIG)
        return cls(database, Tally(str(path), database.count), limits or Limits())

    @property
    def damage(self) -> str | None:
        """What a damaged file lost, in one sentence; None if nothing was damaged."""
        return self._database.damage

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
        return self._save(Save(tuple(rows)))

    def retire_ledgers(self, *, after: int, upto: int) -> Future[None]:
        """Remove accounts under a trace id which the batches in ``(after, upto]`` gave to a named conversation."""
        return self._save(Save(retire=(after, upto)))

    def forget_ledgers(self, conversation_ids: Sequence[str]) -> Future[float]:
        """Remove accounts of conversations that turned out to have no spans."""
        return self.chore(lambda cursor: forget(cursor, conversation_ids))

    def _save(self, save: Save) -> Future[None]:
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

    def queries(self, limits: QueryLimits | None = None) -> Queries:
        """What runs SQL from outside; close it before the store."""
        return Queries(self._database.cursors.fresh, limits)

    def economise(self, nbytes: int) -> None:
        """Let the engine hold no more than this of the database in memory; it is modest without being told."""
        self._database.economise(min(nbytes, _CACHE))

    @property
    def ready(self) -> bool:
        """Whether a request would be taken in now: open, writable and with room in the queue."""
        return self.trouble is None

    @property
    def trouble(self) -> str | None:
        """Why a request would not be taken in now; None if it would."""
        return self._writer.trouble or self._queue.trouble

    def commits(self) -> Histogram:
        """How long commits of spans took since the store was opened."""
        return self._writer.pace.histogram()

    def sizes(self) -> Mapping[str, int]:
        """Bytes of the database file and of its write-ahead file."""
        return self._database.sizes()

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
        self._database.close()
        self._tally.close()
