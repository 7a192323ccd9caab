"""D-43: a write-ahead file that is whole, cut off, or changed."""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spanwise_collector.store import Store, opening

T1 = "0af7651916cd43dd8448eb211c80319c"
_BATCHES = 50
_SPANS = 20  # in each


@pytest.fixture
def database(tmp_path: Path, otlp: Any) -> Path:
    """What the process leaves behind if it ends after acknowledging the last batch."""
    store = Store.open(tmp_path / "live.db")
    for _ in range(_BATCHES):
        store.submit(otlp.body(*(otlp.span() for _ in range(_SPANS)))).result(10)
    for suffix in ("", ".wal", ".seq"):
        shutil.copyfile(tmp_path / f"live.db{suffix}", tmp_path / f"spans.db{suffix}")
    store.close()
    return tmp_path / "spans.db"


@contextmanager
def opened(database: Path) -> Iterator[Store]:
    store = Store.open(database)
    try:
        yield store
    finally:
        store.close()


def wal(database: Path) -> Path:
    return database.with_name("spans.db.wal")


def kept(database: Path) -> list[Path]:
    return sorted(database.parent.glob("spans.db.wal.damaged-*"))


def held(store: Store) -> tuple[int, int]:
    """Batches and spans."""
    return store.reader().seq(), len(store.reader().trace(T1))


def overwrite(database: Path, at: int) -> None:
    with wal(database).open("r+b") as file:
        file.seek(at)
        file.write(bytes(range(64)))  # of words that differ: the engine's checksum does not see equal ones in pairs


def test_a_whole_write_ahead_file_gives_every_batch_and_no_damage(database: Path) -> None:
    with opened(database) as store:
        assert (held(store), store.damage, kept(database)) == ((_BATCHES, _BATCHES * _SPANS), None, [])


def test_a_cut_off_end_is_noticed_counted_and_kept_aside(database: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.truncate(wal(database), wal(database).stat().st_size - 300)
    cut = wal(database).read_bytes()
    with caplog.at_level(logging.WARNING), opened(database) as store:
        (aside,) = kept(database)
        assert re.fullmatch(r"spans\.db\.wal\.damaged-[0-9]+", aside.name)
        assert held(store) == (49, 49 * _SPANS)
        assert store.damage == (
            f"the write-ahead file was damaged and is kept as {aside.name}: "
            f"committed batches missing: 1, spans in them: {_SPANS}"
        )
        assert store.damage in caplog.text
    assert aside.read_bytes() == cut


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.99])
def test_a_changed_file_is_kept_aside_and_everything_before_the_change_is_served(
    database: Path, otlp: Any, share: float
) -> None:
    overwrite(database, int(wal(database).stat().st_size * share))
    changed = wal(database).read_bytes()
    with opened(database) as store:
        (aside,) = kept(database)
        batches, spans = held(store)
        assert int(_BATCHES * share) - 3 <= batches < _BATCHES
        assert spans == batches * _SPANS
        assert store.damage is not None
        lost = _BATCHES - batches
        assert store.damage.endswith(f": committed batches missing: {lost}, spans in them: {lost * _SPANS}")
        store.submit(otlp.body(otlp.span())).result(10)
        assert held(store) == (batches + 1, spans + 1)
    assert aside.read_bytes() == changed


def test_a_file_whose_head_is_changed_serves_nothing_of_it_and_is_kept_aside(database: Path) -> None:
    """The engine says that it belongs elsewhere, and no position."""
    overwrite(database, 32)
    with opened(database) as store:
        assert held(store) == (0, 0)
        assert store.damage is not None
        assert store.damage.endswith(f": committed batches missing: {_BATCHES}, spans in them: {_BATCHES * _SPANS}")
        assert len(kept(database)) == 1


def test_where_the_engine_names_no_position_halving_finds_as_much(database: Path) -> None:
    overwrite(database, wal(database).stat().st_size // 2)
    name, aside = str(database), database.with_name("aside")
    shutil.copyfile(wal(database), aside)
    with pytest.raises(Exception, match="at byte position") as caught:
        opening._connect(name, {})
    told = opening._sound_bytes(name, {}, aside, caught.value)
    found = opening._sound_bytes(name, {}, aside, type(caught.value)("WAL file: no position"))
    assert told <= found < database.with_name("aside").stat().st_size
    seqs = []
    for size in (told, found):
        opening._restore(aside, name, size)
        assert opening._opens(name, {}, aside, size)
        connection = opening._connect(name, {})
        seqs.append(opening._count(connection).seq)
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.close()
    assert seqs[0] == seqs[1] > 0


def test_a_loss_is_reported_once(database: Path, otlp: Any) -> None:
    overwrite(database, wal(database).stat().st_size // 2)
    with opened(database) as store:
        assert store.damage
        store.submit(otlp.body(otlp.span())).result(10)
        whole = held(store)
    with opened(database) as store:
        assert (held(store), store.damage, len(kept(database))) == (whole, None, 1)


def test_without_a_note_the_damage_is_reported_without_a_count(database: Path) -> None:
    database.with_name("spans.db.seq").write_bytes(b"\0" * 42)
    overwrite(database, wal(database).stat().st_size // 2)
    with opened(database) as store:
        assert store.damage is not None
        assert store.damage.endswith("how many committed batches are missing is not known")


def test_a_removed_write_ahead_file_is_noticed(database: Path) -> None:
    wal(database).unlink()
    with opened(database) as store:
        assert store.damage is not None
        assert store.damage.endswith(f": committed batches missing: {_BATCHES}, spans in them: {_BATCHES * _SPANS}")
    assert kept(database) == []


def test_a_note_beside_a_new_database_means_nothing(tmp_path: Path) -> None:
    (tmp_path / "spans.db.seq").write_text(f"{7:020d} {9:020d}\n")
    with opened(tmp_path / "spans.db") as store:
        assert (held(store), store.damage) == ((0, 0), None)


def test_an_error_that_is_not_the_write_ahead_files_leaves_it_alone(database: Path) -> None:
    before = wal(database).read_bytes()
    database.write_bytes(b"no database at all" * 1000)
    with pytest.raises(Exception, match="not a valid DuckDB"):
        Store.open(database)
    assert (wal(database).read_bytes(), kept(database)) == (before, [])
