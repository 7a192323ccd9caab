"""Brings a database file to the newest schema by numbered SQL files, each applied once and whole."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import duckdb

_FOLDER: Final = files("spanwise_collector.store") / "migrations"


class NewerSchema(RuntimeError):
    """The file was written by a newer version of this program."""


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Apply the migrations that the file lacks; raises NewerSchema if it has one that we lack."""
    connection.execute("CREATE TABLE IF NOT EXISTS migrations (version INTEGER NOT NULL)")
    found = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchall()[0][0]
    scripts = _scripts()
    if found > max(scripts):
        raise NewerSchema(
            f"the database has schema {found}, this program knows {max(scripts)}; "
            "start the newer version that wrote it, or name another file"
        )
    for version in sorted(version for version in scripts if version > found):
        _apply(connection, version, scripts[version])


def _scripts() -> dict[int, str]:
    found = [entry for entry in _FOLDER.iterdir() if entry.name.endswith(".sql")]
    return {int(entry.name.split("_")[0]): entry.read_text(encoding="utf-8") for entry in found}


def _apply(connection: duckdb.DuckDBPyConnection, version: int, script: str) -> None:
    connection.begin()
    try:
        connection.execute(script)
        connection.execute("INSERT INTO migrations VALUES (?)", [version])
    except duckdb.Error:
        connection.rollback()
        raise
    connection.commit()
