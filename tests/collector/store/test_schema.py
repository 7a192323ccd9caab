"""An older file is brought to today's schema, a newer one is refused, a step that fails changes nothing."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import pytest

from spanwise_collector.__main__ import main
from spanwise_collector.store import Store, schema
from spanwise_collector.store.schema import NewerSchema

T1 = "0af7651916cd43dd8448eb211c80319c"
_SCRIPTS = sorted((files("spanwise_collector.store") / "migrations").iterdir(), key=lambda entry: entry.name)


def versions(database: Path) -> list[int]:
    with duckdb.connect(str(database)) as connection:
        return [row[0] for row in connection.execute("SELECT version FROM migrations ORDER BY version").fetchall()]


def test_migrations_are_numbered_without_a_gap() -> None:
    assert list(range(1, len(_SCRIPTS) + 1)) == [int(entry.name.split("_")[0]) for entry in _SCRIPTS]


@pytest.mark.parametrize("old", range(1, len(_SCRIPTS) + 1))
def test_a_file_of_any_older_schema_is_upgraded_with_what_it_holds(tmp_path: Path, otlp: Any, old: int) -> None:
    database = tmp_path / "spans.db"
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE migrations (version INTEGER NOT NULL)")
        for version, entry in enumerate(_SCRIPTS[:old], start=1):
            connection.execute(entry.read_text(encoding="utf-8"))
            connection.execute("INSERT INTO migrations VALUES (?)", [version])
        connection.execute("INSERT INTO resources VALUES (0, NULL, ''), (1, NULL, 'old')")
    store = Store.open(database)
    store.submit(otlp.body(otlp.span())).result(10)
    assert len(store.reader().trace(T1)) == 1
    assert [(0, ""), (1, "old")] == store.reader()._rows("SELECT id, schema_url FROM resources ORDER BY id LIMIT 2")
    store.close()
    assert list(range(1, len(_SCRIPTS) + 1)) == versions(database)


def test_a_file_of_a_newer_program_is_refused_in_one_line_and_left_alone(
    tmp_path: Path, otlp: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "spans.db"
    store = Store.open(database)
    store.submit(otlp.body(otlp.span())).result(10)
    store.close()
    with duckdb.connect(str(database)) as connection:
        connection.execute("INSERT INTO migrations VALUES (999)")
    before = database.read_bytes()
    with pytest.raises(NewerSchema, match=r"schema 999, this program knows \d+; start the newer version"):
        Store.open(database)
    monkeypatch.setattr(sys, "argv", ["spanwise_collector", "--db", str(database)])
    assert main() == 1
    assert "schema 999" in capsys.readouterr().err
    assert before == database.read_bytes()


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = tmp_path / "spans.db"
    Store.open(database).close()
    today = versions(database)
    scripts = {**schema._scripts(), 900: "CREATE TABLE added (a INTEGER); INSERT INTO nowhere VALUES (1);"}
    monkeypatch.setattr(schema, "_scripts", lambda: scripts)
    with pytest.raises(duckdb.CatalogException, match="nowhere"):
        Store.open(database)
    monkeypatch.undo()
    assert today == versions(database)
    store = Store.open(database)
    assert store.reader()._rows("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'added'") == [(0,)]
    store.close()
