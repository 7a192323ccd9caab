"""How new the answers about many conversations are."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.collector.conftest import Otlp

from spanwise import semconv
from spanwise_analyzer.books import Books
from spanwise_collector.store import Store

_PATIENCE_S = 20.0
_MANY = 70  # commits, more than anybody waits for


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Books]:
    store = Store.open(tmp_path / "spans.db")
    books = Books(store)
    books.start()
    yield books
    books.close()
    store.close()


def _commit(books: Books, times: int) -> None:
    otlp = Otlp()
    body = otlp.body(otlp.span("chat", attributes={semconv.GEN_AI_CONVERSATION_ID: "c"}))
    for _ in range(times):
        books.store.submit(body).result(_PATIENCE_S)


def _rows(books: Books) -> list[str]:
    return [row.conversation_id for row in books.reader().ledgers().rows]


def test_where_spans_come_faster_than_accounts_a_list_lacks_the_newest_and_says_how_far_it_is_behind(
    books: Books,
) -> None:
    with books._round:  # no account is made meanwhile
        _commit(books, _MANY)
        assert [] == _rows(books)
        assert _MANY == books.behind()
    deadline = time.monotonic() + _PATIENCE_S
    while books.behind() and time.monotonic() < deadline:
        books.refresh()
    assert (["c"], 0) == (_rows(books), books.behind())


def test_otherwise_a_list_waits_for_the_newest(books: Books) -> None:
    with ThreadPoolExecutor(1) as threads:
        with books._round:
            _commit(books, 1)
            asked = threads.submit(_rows, books)
            assert books._wanted.wait(_PATIENCE_S) or not asked.done()
        assert ["c"] == asked.result(_PATIENCE_S)


def test_who_waits_is_let_go_when_the_server_ends(books: Books) -> None:
    with books._round:
        _commit(books, 1)
        asking = threading.Thread(target=books.refresh)
        asking.start()
        ending = threading.Thread(target=books.close)
        ending.start()
        asking.join(_PATIENCE_S / 4)
        assert not asking.is_alive()
    ending.join(_PATIENCE_S)
