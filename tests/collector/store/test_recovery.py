"""The engine gives up on its file: it is opened anew while senders and readers go on."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from spanwise_collector.store import Accepted, Overloaded, Store
from spanwise_collector.store.opening import ROW_GROUP

T1 = "0af7651916cd43dd8448eb211c80319c"
_PATIENCE_S = 20.0


@pytest.fixture
def broken(store: Store, otlp: Any) -> Store:
    """A store whose next checkpoint fails half-way, as on a full disk; one span of T1 is in it."""
    store.submit(otlp.body(otlp.span())).result(10)
    store._database.cursor().execute("SET GLOBAL debug_checkpoint_abort = 'before_header'")
    return store


def fill(store: Store, otlp: Any) -> None:
    """One span more than what makes the writer check its file in."""
    spans = [otlp.span(trace=f"{1 + number % 9:032x}") for number in range(ROW_GROUP)]
    store.submit(otlp.body(*spans)).result(_PATIENCE_S)


def until_accepted(store: Store, body: bytes) -> Accepted:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            future: Future[Accepted] = store.submit(body)
            return future.result(_PATIENCE_S)
        except Overloaded:
            assert time.monotonic() < deadline


def test_after_a_failed_checkpoint_the_store_takes_spans_again_and_has_lost_none(
    broken: Store, otlp: Any, tmp_path: Path
) -> None:
    fill(broken, otlp)
    assert until_accepted(broken, otlp.body(otlp.span())).spans == 1
    assert (broken.trouble, broken.damage) == (None, None)
    reader = broken.reader()
    assert [2, ROW_GROUP] == [len(reader.trace(T1)), sum(len(reader.trace(f"{n:032x}")) for n in range(1, 10))]
    broken.close()
    again = Store.open(tmp_path / "spans.db")
    assert (len(again.reader().trace(T1)), again.damage) == (2, None)
    again.close()


def test_it_is_ready_again_although_nobody_sends(broken: Store, otlp: Any, caplog: pytest.LogCaptureFixture) -> None:
    fill(broken, otlp)
    deadline = time.monotonic() + _PATIENCE_S
    while "opened anew" not in caplog.text:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert (broken.ready, len(broken.reader().trace(T1))) == (True, 1)


def test_readers_get_their_own_rows_or_an_error_while_the_file_is_opened_anew(broken: Store, otlp: Any) -> None:
    stop, wrong, read = threading.Event(), [], []

    def ask() -> None:
        while not stop.is_set():
            try:
                read.append(len(broken.reader().trace(T1)))
            except Overloaded:
                stop.wait(0.01)
            except Exception as error:  # noqa: BLE001  # whatever else it is
                wrong.append(error)

    readers = [threading.Thread(target=ask) for _ in range(6)]
    for reader in readers:
        reader.start()
    try:
        fill(broken, otlp)
        until_accepted(broken, otlp.body(otlp.span()))
        stop.wait(0.2)
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert (wrong, set(read)) == ([], {1, 2})
