"""Opens the database file, or says in one line why it cannot be opened."""

from __future__ import annotations

from pathlib import Path

from spanwise_collector.store import DatabaseInUse, Limits, Store


def opened(db: Path, limits: Limits | None = None) -> Store:
    """The store in this file; raises DatabaseInUse, or OSError with what the engine says in one line."""
    try:
        return Store.open(db, limits)
    except DatabaseInUse:
        raise
    except Exception as error:  # the engine's own errors are known to the store alone
        raise OSError(f"cannot open {db}: {str(error).splitlines()[0]}") from error
