"""Ready means that a span that came now would be stored."""

from __future__ import annotations

from pathlib import Path

from spanwise_analyzer.books import Books
from spanwise_analyzer.health import Monitor
from spanwise_collector.store import Store


def test_a_server_that_was_told_to_end_is_not_ready_and_says_why(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "spans.duckdb")
    monitor = Monitor(store, Books(store), dict)
    before = monitor.condition()
    monitor.draining.set()
    after = monitor.condition()
    store.close()
    assert (before.status, before.checks["draining"]) == ("ok", None)
    assert (after.status, after.checks["draining"]) == ("unavailable", "the server was told to end")


def test_a_closed_store_is_not_ready(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "spans.duckdb")
    store.close()
    assert Monitor(store, Books(store), dict).condition().status == "unavailable"
