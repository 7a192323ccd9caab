"""Stops a query that takes too long or too much memory."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Final, Self

import duckdb

_LOOK_S: Final = 0.02
# What queries hold while they run; the tables themselves and what waits to be written are not theirs.
_HELD: Final = """
    SELECT sum(memory_usage_bytes + temporary_storage_bytes) FROM duckdb_memory()
    WHERE tag IN ('ALLOCATOR', 'COLUMN_DATA', 'HASH_TABLE', 'ORDER_BY', 'OVERFLOW_STRINGS', 'WINDOW')
"""


class Watch:
    """Looks after one cursor for the length of a ``with`` block; ``stopped`` says why it had to end, else it is None.

    Memory is what all queries of the engine hold beyond what they held at the start: the engine counts it no finer.
    """

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        beside: duckdb.DuckDBPyConnection,
        *,
        seconds: float,
        memory_bytes: int,
    ) -> None:
        self._cursor = cursor
        self._beside = beside
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="spanwise-query-watch", daemon=True)
        self.stopped: str | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def stop(self, why: str) -> None:
        """End the query."""
        self.stopped = self.stopped or why
        self._cursor.interrupt()

    def _look(self) -> None:
        deadline = time.monotonic() + self._seconds
        held = self._held()
        while not self._over.wait(_LOOK_S):
            if time.monotonic() > deadline:
                self.stop(f"the query took over {self._seconds:g} s")
            elif self._held() - held > self._memory_bytes:
                self.stop(f"the query took over {self._memory_bytes // 2**20} MiB of memory")

    def _held(self) -> int:
        return int(self._beside.execute(_HELD).fetchall()[0][0])
