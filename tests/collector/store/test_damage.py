"""Files that are whole, cut off, changed or gone: the write-ahead file and the database itself."""

from __future__ import annotations

import logging
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.collector.conftest import Otlp

from spanwise_collector.store import Damaged, Store, opening

T1 = "0af7651916cd43dd8448eb211c80319c"
_BATCHES = 50
_SPANS = 20  # in each
_NEW = "ff" * 8


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the process leaves behind if it ends after acknowledging the last batch."""
    folder, otlp = tmp_path_factory.mktemp("left"), Otlp()
    store = Store.open(folder / "live.db")
    for _ in range(_BATCHES):
        store.submit(otlp.body(*(otlp.span() for _ in range(_SPANS)))).result(10)
    _copy(folder / "live.db", folder / "spans.db")
    store.close()
    return folder / "spans.db"


@pytest.fixture
def database(left: Path, tmp_path: Path) -> Path:
    _copy(left, tmp_path / "spans.db")
    return tmp_path / "spans.db"


def _copy(source: Path, target: Path) -> None:
    for suffix in ("", ".wal", ".seq"):
        shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")


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
    spoilt(wal(database), at)


def spoilt(path: Path, at: int) -> None:
    with path.open("r+b") as file:
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


@pytest.mark.parametrize("cuts", [6, pytest.param(300, marks=pytest.mark.soak)])
def test_cut_anywhere_it_gives_whole_batches_and_counts_the_others(left: Path, tmp_path: Path, cuts: int) -> None:
    """As after a power cut; a cut between two batches looks like a shorter file that is whole."""
    size, chance = left.with_name("spans.db.wal").stat().st_size, random.Random(cuts)  # noqa: S311  # no secret
    lost = []
    for number, at in enumerate([0, 1, *(chance.randrange(size) for _ in range(cuts - 2))]):
        database = tmp_path / str(number) / "spans.db"
        database.parent.mkdir()
        _copy(left, database)
        os.truncate(wal(database), at)
        with opened(database) as store:
            batches, spans = held(store)
            assert spans == batches * _SPANS
            lost.append(_BATCHES - batches)
            assert store.damage is not None
            assert store.damage.endswith(f"missing: {lost[-1]}, spans in them: {lost[-1] * _SPANS}")
            assert at == sum(aside.stat().st_size for aside in kept(database))
    assert lost[0] == _BATCHES
    assert all(each > 0 for each in lost)


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
        store.submit(otlp.body(otlp.span(span=_NEW))).result(10)
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
        store.submit(otlp.body(otlp.span(span=_NEW))).result(10)
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


def test_a_write_ahead_file_without_its_database_is_kept(database: Path) -> None:
    """The engine would delete it."""
    before = wal(database).read_bytes()
    database.unlink()
    with opened(database) as store:
        assert held(store) == (0, 0)
        assert store.damage is not None
        assert store.damage.startswith("the database file is gone and its write-ahead file is kept as ")
        assert store.damage.endswith(f": committed batches missing: {_BATCHES}, spans in them: {_BATCHES * _SPANS}")
    assert [before] == [file.read_bytes() for file in database.parent.glob("spans.db.damaged-*.wal")]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"no database at all" * 1000),
        lambda file: os.truncate(file, 8192),
        lambda file: spoilt(file, 0),
        lambda file: spoilt(file, 4200),
        lambda file: spoilt(file, 8300),
    ],
)
def test_a_database_file_that_cannot_be_opened_is_kept_aside_and_a_new_one_begun(
    database: Path, otlp: Any, spoil: Callable[[Path], None]
) -> None:
    spoil(database)
    before = database.read_bytes(), wal(database).read_bytes()
    with opened(database) as store:
        assert store.damage is not None
        (aside,) = (file for file in database.parent.glob("spans.db.damaged-*") if file.suffix != ".wal")
        lost = f"committed batches missing: {_BATCHES}, spans in them: {_BATCHES * _SPANS}"
        assert store.damage == f"the database file was damaged and is kept as {aside.name}, a new one was begun: {lost}"
        assert store.submit(otlp.body(otlp.span(span=_NEW))).result(10).spans == 1
        assert held(store) == (1, 1)
    assert before == (aside.read_bytes(), aside.with_name(f"{aside.name}.wal").read_bytes())
    with opened(database) as store:
        assert (held(store), store.damage) == ((1, 1), None)


def test_a_file_that_was_never_ours_is_refused_and_left_alone(database: Path) -> None:
    database.with_name("spans.db.seq").unlink()
    database.write_bytes(b"no database at all" * 1000)
    before = database.read_bytes(), wal(database).read_bytes()
    with pytest.raises(Exception, match="not a valid DuckDB"):
        Store.open(database)
    assert (database.read_bytes(), wal(database).read_bytes(), kept(database)) == (*before, [])


def test_wherever_the_database_file_is_damaged_no_answer_is_short(tmp_path: Path, otlp: Any) -> None:
    """Each trace is whole or refused by name; what cannot be opened is kept aside; either way it is told."""
    whole, spoiled = tmp_path / "whole.db", tmp_path / "spoiled.db"
    traces = [f"{number:032x}" for number in range(1, 81)]
    with opened(whole) as store:
        for trace in traces:
            payload = {"payload": random.Random(trace).randbytes(2000).hex()}  # noqa: S311  # fills blocks
            store.submit(otlp.body(*(otlp.span(trace=trace, attributes=payload) for _ in range(25)))).result(10)
    outcomes = Counter[str]()
    for at in range(12_288 + 5000, whole.stat().st_size, 2**18):  # once in each of the engine's blocks
        for suffix in ("", ".seq"):
            shutil.copyfile(f"{whole}{suffix}", f"{spoiled}{suffix}")
        spoilt(spoiled, at)
        outcomes[_outcome(spoiled, traces)] += 1
        for file in tmp_path.glob("spoiled.db*"):
            file.unlink()
    assert set(outcomes) <= {"harmless", "partly", "aside"}
    assert outcomes["partly"] > 0


def _outcome(database: Path, traces: list[str]) -> str:
    with opened(database) as store:
        if store.damage is not None:
            assert "is kept as" in store.damage
            return "aside"
        sizes = [_size(store, trace) for trace in traces]
        assert {25, None} >= set(sizes)
        assert (None in sizes) == (store.damage is not None)
        return "partly" if store.damage else "harmless"


def _size(store: Store, trace: str) -> int | None:
    try:
        return len(store.reader().trace(trace))
    except Damaged as error:
        assert "a part of the database file cannot be read, the rest can: " in str(error)  # noqa: PT017  # may not happen
        return None
