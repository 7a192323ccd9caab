"""Opens a database whose write-ahead file may be damaged: as much as can be read is, and what is missing is told."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import duckdb

from spanwise_collector.store import aside
from spanwise_collector.store.accepted import DatabaseInUse
from spanwise_collector.store.aside import WAL
from spanwise_collector.store.tally import Count, noted

Config: TypeAlias = dict[str, str | bool | int | float | list[str]]

ROW_GROUP: Final = 8_192
"""Rows that are written as one: a checkpoint rewrites a group that is not full."""

_WANTS: Final = ("memory", "allocate", "no space", "too many open files")
_HEAD: Final = 16  # bytes; no entry of the file is smaller
_ALIAS: Final = "spanwise"
_HELD: Final = ("Could not set lock", "already attached")
_POSITION: Final = re.compile(r"at byte position (\d+)")


@dataclass(frozen=True, slots=True)
class Opened:
    """An open database, what it holds, and one sentence about what was lost, None if nothing was."""

    connection: duckdb.DuckDBPyConnection
    count: Count
    damage: str | None


def opened(database: str, config: Config) -> Opened:
    """Open or create the file; raises DatabaseInUse if another process has it.

    The engine drops an incomplete end of its write-ahead file without a word and refuses a changed one altogether.
    Nothing is written before the damaged file is kept aside: the engine's next write would cut it. A database file that
    cannot be opened is kept aside as a whole if it was ours, which the note beside it tells; a new one takes its place.
    """
    last = noted(database)
    if not Path(database).exists():
        return _without(database, config, last)
    connection: duckdb.DuckDBPyConnection | None = None
    try:
        connection, kept = _connected(database, config)
        return _compared(database, connection, kept, last)
    except duckdb.Error as error:
        if connection is not None:
            connection.close()
        if last is None or not aside.blames_file(error):
            raise
    lead = f"the database file was damaged and is kept as {aside.moved(database).name}, a new one was begun"
    return Opened(_connect(database, config), Count(0, 0), aside.told(lead, last))


def _without(database: str, config: Config, last: Count | None) -> Opened:
    """A new database; what an older one has left in a write-ahead file is kept, the engine would delete it."""
    wal, damage = Path(WAL.format(database)), None
    if wal.exists():
        kept = Path(WAL.format(aside.moved(database)))
        damage = aside.told(f"the database file is gone and its write-ahead file is kept as {kept.name}", last)
    return Opened(_connect(database, config), Count(0, 0), damage)


def _compared(database: str, connection: duckdb.DuckDBPyConnection, kept: Path | None, last: Count | None) -> Opened:
    count = _count(connection)
    missing = Count(max(0, last.seq - count.seq), max(0, last.spans - count.spans)) if last else None
    if kept is None and missing is not None and missing.seq:
        kept = aside.copied(Path(WAL.format(database)))
    return Opened(connection, count, _damage(kept, missing))


def _connected(database: str, config: Config) -> tuple[duckdb.DuckDBPyConnection, Path | None]:
    try:
        return _connect(database, config), None
    except duckdb.Error as error:
        blamed = _blames_wal(str(error).replace(database, ""))
        kept = aside.copied(Path(WAL.format(database))) if blamed else None
        if kept is None:
            raise
        return _salvaged(database, config, kept, error), kept


def _blames_wal(message: str) -> bool:
    """Whether it is the file's content that cannot be read, and not for want of memory or room."""
    return "WAL file" in message and not any(want in message.lower() for want in _WANTS)


def _salvaged(database: str, config: Config, kept: Path, error: duckdb.Error) -> duckdb.DuckDBPyConnection:
    """Open with what stands before the damage; if even that fails, everything is as it was and the error is raised."""
    try:
        _restore(kept, database, _sound_bytes(database, config, kept, error))
        return _connect(database, config)
    except (duckdb.Error, DatabaseInUse, OSError) as again:
        kept.replace(WAL.format(database))
        raise error from again


def _sound_bytes(database: str, config: Config, kept: Path, error: Exception) -> int:
    """Bytes of the write-ahead file before the damage: told by the engine, else found by halving."""
    position = _POSITION.search(str(error))
    if position and _opens(database, config, kept, int(position[1])):
        return int(position[1])
    low, high = 0, kept.stat().st_size
    while high - low > _HEAD:
        middle = (low + high) // 2
        low, high = (middle, high) if _opens(database, config, kept, middle) else (low, middle)
    return low


def _opens(database: str, config: Config, kept: Path, size: int) -> bool:
    """Whether this much of the write-ahead file can be read; opened for reading, nothing is written."""
    _restore(kept, database, size)
    try:
        duckdb.connect(database, read_only=True, config=config).close()
    except duckdb.Error:
        return False
    return True


def _restore(kept: Path, database: str, size: int) -> None:
    wal = Path(WAL.format(database))
    shutil.copyfile(kept, wal)
    os.truncate(wal, size)


def cursor(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Another way into the same database, for one thread."""
    made = connection.cursor()
    made.execute(f"USE {_ALIAS}")
    return made


def checkpoint(cursor: duckdb.DuckDBPyConnection) -> None:
    """Move what the write-ahead file holds into the database file; no transaction may be writing."""
    cursor.execute(f"CHECKPOINT {_ALIAS}")


def _connect(database: str, config: Config) -> duckdb.DuckDBPyConnection:
    # Attached, as only so the size of row groups can be chosen.
    connection = duckdb.connect(config=config)
    try:
        connection.execute(f"ATTACH $path AS {_ALIAS} (ROW_GROUP_SIZE {ROW_GROUP})", {"path": database})
        connection.execute(f"USE {_ALIAS}")
    except duckdb.Error as error:
        connection.close()
        if any(sign in str(error) for sign in _HELD):
            raise DatabaseInUse(f"{database} is in use by another process; one process owns the file") from error
        raise
    return connection


def _count(connection: duckdb.DuckDBPyConnection) -> Count:
    """What the file holds; raises duckdb.Error if what every commit needs to know of it cannot be read."""
    try:
        (found,) = connection.execute("SELECT coalesce(max(seq), 0), coalesce(sum(spans), 0) FROM batches").fetchall()
        for table in ("resources", "scopes"):
            connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
    except duckdb.CatalogException:  # a new file, or one that lost everything
        return Count(0, 0)
    return Count(int(found[0]), int(found[1]))


def _damage(kept: Path | None, missing: Count | None) -> str | None:
    if kept is not None:
        return aside.told(f"the write-ahead file was damaged and is kept as {kept.name}", missing)
    if missing and missing.seq:
        return aside.told("the database is older than what was acknowledged and has no write-ahead file", missing)
    return None
