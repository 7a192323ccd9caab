"""The open database, opened anew when the engine has given up on it."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Final

import duckdb

from spanwise_collector.store import aside, opening
from spanwise_collector.store.accepted import Damaged, Overloaded
from spanwise_collector.store.cursors import Cursors
from spanwise_collector.store.opening import Config, opened
from spanwise_collector.store.schema import migrate
from spanwise_collector.store.tally import Count

_log = logging.getLogger(__name__)

_INVALID: Final = "has been invalidated"  # said of a failed checkpoint, which is not fatal to the other databases
_PASSING: Final = (
    Overloaded,
    duckdb.FatalException,
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    duckdb.TransactionException,
)
_PAUSE_S: Final = 1.0  # between openings: each reads the write-ahead file again


def passing(error: Exception) -> bool:
    """Whether the file or the machine is to blame, so that the same work may succeed later."""
    return isinstance(error, _PASSING) or _INVALID in str(error)


class Database:
    """One file, its connection, and the cursors of the reading threads; only the writer thread reopens it.

    A failed checkpoint or flush, as on a full disk, makes the engine refuse everything until the file is opened anew.
    """

    def __init__(self, path: str, config: Config) -> None:
        self._path, self._config = path, dict(config)
        self._fault: str | None = None
        self._opened_s = 0.0
        self.count = Count(0, 0)
        """What the file held when it was opened."""
        self.damage: str | None = None
        """What a damaged file lost, in one sentence; None if nothing was damaged."""
        self._connection = self._open()
        self.cursors = Cursors(self._connection, self._alarm)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor for the writer thread."""
        return opening.cursor(self._connection)

    def sizes(self) -> dict[str, int]:
        """Bytes of the file and of its write-ahead file."""
        files = {"database": Path(self._path), "wal": Path(aside.WAL.format(self._path))}
        return {name: file.stat().st_size if file.exists() else 0 for name, file in files.items()}

    def economise(self, nbytes: int) -> None:
        """Let the engine hold no more than this in memory, also after it was opened anew."""
        self._config["memory_limit"] = f"{nbytes}B"
        self.cursors.rows(f"SET memory_limit = '{nbytes}B'")

    def heed(self, error: BaseException) -> None:
        """Note that the engine gave up, if that is what the error says."""
        if self._fault is None and (isinstance(error, duckdb.FatalException) or _INVALID in str(error)):
            self._fault = str(error).splitlines()[0]

    @property
    def invalid(self) -> bool:
        """Whether the engine gave up."""
        return self._fault is not None

    def reopen(self, writing: duckdb.DuckDBPyConnection) -> bool:
        """Open the file anew if the engine gave up; whether it did. Raises Overloaded if it is too soon for that."""
        if self._fault is None:
            return False
        if time.monotonic() < self._opened_s + _PAUSE_S:
            raise Overloaded(self._fault)
        writing.close()
        self.cursors.replace(self._open)
        _log.warning("%s: opened anew after: %s", self._path, self._fault)
        self._fault = None
        return True

    def _alarm(self, error: Exception) -> None:
        """Of a query that failed, in any reading thread: raises Overloaded or Damaged if the file is to blame."""
        self.heed(error)
        if self.invalid:
            raise Overloaded("the database is being opened anew; ask again in a second") from error
        if aside.blames_file(error):
            said = f"a part of the database file cannot be read, the rest can: {str(error).splitlines()[0]}"
            if self.damage is None:
                _log.error("%s: %s", self._path, said)
            self.damage = self.damage or said
            raise Damaged(said) from error

    def close(self) -> None:
        """Give up the file."""
        self.cursors.close()
        self._connection.close()

    def _open(self) -> duckdb.DuckDBPyConnection:
        self._opened_s = time.monotonic()
        found = opened(self._path, self._config)
        if found.damage:
            _log.warning("%s: %s", self._path, found.damage)
        try:
            migrate(found.connection)
        except BaseException:
            found.connection.close()
            raise
        self.count, self.damage = found.count, found.damage or self.damage
        self._connection = found.connection
        return found.connection
