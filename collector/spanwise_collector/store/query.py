"""Read-only SQL from outside: on a cursor of its own, within limits of time, memory, rows and bytes."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import duckdb

from spanwise_collector.store.permit import Refused, permit
from spanwise_collector.store.views import define
from spanwise_collector.store.watch import Watch

Scalar: TypeAlias = str | int | float | bool | None

_GRACE_S: Final = 2.0  # for a query to notice that it was stopped
_LINE: Final = re.compile(r"\n\nLINE (?P<line>\d+): (?P<text>.*)\n(?P<space> *)\^", re.DOTALL)
_SAFE: Final = (
    # No statement that passes permit could do any of this; should one ever slip through, the engine refuses as well.
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",
    "SET allow_community_extensions = false",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """What one query may take, how many may run at a time, and how long another one waits for its turn."""

    seconds: float = 10.0
    memory_bytes: int = 256 * 2**20
    answer_bytes: int = 16 * 2**20
    concurrent: int = 2
    patience_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query answers; ``truncated`` tells that there was more."""

    names: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[Any]]
    truncated: bool


class Exhausted(RuntimeError):
    """The query took too much of something; the message says of what."""


class Busy(RuntimeError):
    """As many queries run as may."""


class Queries:
    """Runs SQL, each statement on a fresh cursor.

    From the first one on no connection of this process can touch files, network or extensions.
    """

    def __init__(
        self, fresh: Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]], limits: QueryLimits | None = None
    ) -> None:
        self._fresh = fresh
        self._limits = limits or QueryLimits()
        self._free = threading.BoundedSemaphore(self._limits.concurrent)
        self._threads = ThreadPoolExecutor(self._limits.concurrent, thread_name_prefix="spanwise-query")
        self._watches: set[Watch] = set()

    def run(self, sql: str, parameters: Mapping[str, Scalar], *, limit: int) -> Rows:
        """At most ``limit`` rows; raises Refused, Exhausted or Busy."""
        if not self._free.acquire(timeout=self._limits.patience_s):
            raise Busy(f"{self._limits.concurrent} queries are running already")
        future: Future[Rows] = self._threads.submit(self._run, sql, parameters, limit)
        future.add_done_callback(lambda _: self._free.release())
        try:
            return future.result(self._limits.seconds + _GRACE_S)
        except Late:
            # Its place is taken until it notices.
            raise Exhausted(f"the query took over {self._limits.seconds:g} s and does not stop at once") from None

    def close(self) -> None:
        """Stop what runs."""
        for watch in list(self._watches):
            watch.stop("the server is stopping")
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _run(self, sql: str, parameters: Mapping[str, Scalar], limit: int) -> Rows:
        with self._fresh() as cursor, cursor.cursor() as beside:
            watch = Watch(cursor, beside, seconds=self._limits.seconds, memory_bytes=self._limits.memory_bytes)
            self._watches.add(watch)
            try:
                with watch:
                    _prepare(cursor)
                    permit(cursor, sql)
                    return self._rows(cursor, sql, parameters, limit)
            except duckdb.FatalException:
                raise  # the engine gave up; whoever lends the cursor has to know
            except (duckdb.Error, UnicodeError) as error:
                raise _failure(error, watch, sql) from error
            finally:
                self._watches.discard(watch)

    def _rows(self, cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Scalar], limit: int) -> Rows:
        cursor.execute(sql, dict(parameters))
        names, types = zip(*((name, str(kind)) for name, kind, *_ in cursor.description or ()), strict=True)
        rows, truncated = _fetched(cursor.fetchone, limit, self._limits.answer_bytes)
        return Rows(names, types, rows, truncated)


def _prepare(cursor: duckdb.DuckDBPyConnection) -> None:
    for statement in _SAFE:
        cursor.execute(statement)
    define(cursor)
    cursor.execute("BEGIN TRANSACTION READ ONLY")


def _fetched(fetch: Callable[[], Any], limit: int, most_bytes: int) -> tuple[list[Any], bool]:
    rows: list[Any] = []
    size = 0
    while (row := fetch()) is not None:
        size += _size(row)
        if len(rows) == limit or (rows and size > most_bytes):
            return rows, True
        if size > most_bytes:
            raise Exhausted(f"the first row is over {most_bytes} bytes")
        rows.append(row)
    return rows, False


def _size(value: Any) -> int:
    """About how many bytes a value has in an answer."""
    if isinstance(value, str | bytes):
        return len(value) + 2
    if isinstance(value, Mapping):
        return sum(_size(inner) for pair in value.items() for inner in pair)
    if isinstance(value, list | tuple):
        return sum(_size(inner) for inner in value)
    return 8


def _failure(error: Exception, watch: Watch, sql: str) -> Exception:
    if watch.stopped is not None:
        return Exhausted(watch.stopped)
    if isinstance(error, duckdb.OutOfMemoryException):
        return Exhausted("the query needs more memory than there is")
    message = str(error)
    return Refused(message.split("\n\nLINE ", maxsplit=1)[0].split("\n", maxsplit=1)[0], _position(message, sql))


def _position(message: str, sql: str) -> int | None:
    """The character that the engine's caret points at; of a long line it shows a part."""
    found = _LINE.search(message)
    if found is None:
        return None
    lines = sql.split("\n")
    number = int(found["line"]) - 1
    shown = found["text"].removeprefix("...").removesuffix("...")
    at = lines[number].find(shown) if number < len(lines) else -1
    if at < 0:
        return None
    column = len(found["space"]) - len(f"LINE {found['line']}: ") - (3 if found["text"].startswith("...") else 0)
    return sum(len(line) + 1 for line in lines[:number]) + at + column
