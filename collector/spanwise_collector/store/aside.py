"""Damaged files: how they are recognised, kept under names of their own, and told of."""

from __future__ import annotations

import itertools
import shutil
import time
from pathlib import Path
from typing import Final

from spanwise_collector.store.tally import Count

WAL: Final = "{}.wal"
_SIGNS: Final = (
    "Corrupt database file",
    "not a valid DuckDB database file",
    "Could not read enough bytes from file",
    "deserialize",
)


def blames_file(error: Exception) -> bool:
    """Whether the error says that the database file itself cannot be read."""
    return any(sign in str(error) for sign in _SIGNS)


def copied(wal: Path) -> Path | None:
    """A copy of the write-ahead file under a name of its own; None if there is no such file."""
    if not wal.exists():
        return None
    kept = _free(wal)
    shutil.copyfile(wal, kept)
    return kept


def moved(database: str) -> Path:
    """Rename the database file and its write-ahead file, where they exist, to names that still belong together."""
    kept = _free(Path(database))
    for file, name in ((Path(database), kept), (Path(WAL.format(database)), Path(WAL.format(kept)))):
        if file.exists():
            file.replace(name)
    return kept


def told(lead: str, missing: Count | None) -> str:
    """One sentence on what happened and what is missing; None means that nobody knows."""
    if missing is None:
        return f"{lead}: how many committed batches are missing is not known"
    if not missing.seq:
        return f"{lead}: no committed batch is missing"
    return f"{lead}: committed batches missing: {missing.seq}, spans in them: {missing.spans}"


def _free(file: Path) -> Path:
    names = (file.with_name(f"{file.name}.damaged-{second}") for second in itertools.count(int(time.time())))
    return next(name for name in names if not name.exists() and not Path(WAL.format(name)).exists())
