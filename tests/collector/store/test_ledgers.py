from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spanwise_collector.store import LedgerFilter, LedgerRow, SegmentRow, Store

N0 = 1_700_000_000_000_000_000
T1 = "0af7651916cd43dd8448eb211c80319c"


def ledger(name: str, *ns: int, **changes: Any) -> LedgerRow:
    """A conversation with one model segment of each length."""
    segments = [
        SegmentRow(1, T1, f"{n:016x}", "model.call", N0, N0 + each, model="m", service="svc", agent="a")
        for n, each in enumerate(ns, start=1)
    ]
    row = LedgerRow(
        name, 1, "svc", "a", N0, N0 + sum(ns), sum(ns), 1, "ok", "model.call", sum(ns), "trim-output",
        models=["m"], tools=["find"], servers=["orders"], answer=name.encode(), segments=segments,
    )  # fmt: skip
    return replace(row, **changes)


def listed(store: Store, **filters: Any) -> list[str]:
    return [row.conversation_id for row in store.reader().ledgers(LedgerFilter(**filters)).rows]


def test_a_newer_ledger_replaces_the_older_one_and_never_the_other_way(store: Store) -> None:
    for seq in (1, 3, 2):
        store.save_ledgers([ledger("c-1", seq * 10, seq=seq, answer=str(seq).encode())]).result(10)
    reader = store.reader()
    stored = reader.ledger("c-1")
    assert stored is not None
    assert (stored.conversation_id, stored.seq, stored.answer) == ("c-1", 3, b"3")
    assert [row.ns for row in reader.attribution(["stage"])] == [30]
    assert reader.ledger("c-2") is None


def test_the_list_is_filtered_by_each_condition(store: Store) -> None:
    other = {"service": "b", "agent": "z", "status": "error", "dominant_stage": "mcp.server", "started_ns": N0 + 5}
    store.save_ledgers(
        [ledger("c-1", 10), ledger("c-2", 20, models=["x"], tools=[], servers=["mail"], **other)]
    ).result(10)
    matches: dict[str, Any] = {
        "service": "b", "agent": "z", "model": "x", "server": "mail", "stage": "mcp.server", "status": "error",
        "since_ns": N0 + 1, "min_active_ns": 11,
    }  # fmt: skip
    for name, wanted in matches.items():
        assert listed(store, **{name: wanted}) == ["c-2"], name
    assert (listed(store, tool="find"), listed(store, until_ns=N0 + 5)) == (["c-1"], ["c-1"])
    assert listed(store) == ["c-2", "c-1"]
    assert listed(store, service="x' OR '1'='1") == []


@pytest.mark.parametrize("sort", ["started", "active"])
def test_pages_hold_every_row_once_in_order(store: Store, sort: Any) -> None:
    store.save_ledgers([ledger(f"c-{n}", 10 * (n % 3) + 1, started_ns=N0 + n % 4) for n in range(11)]).result(10)
    reader, cursor, pages = store.reader(), None, []
    while True:
        page = reader.ledgers(sort=sort, limit=4, cursor=cursor)
        pages.append([row.conversation_id for row in page.rows])
        cursor = page.next_cursor
        if cursor is None:
            break
    whole = [row.conversation_id for row in reader.ledgers(sort=sort, limit=100).rows]
    assert [len(page) for page in pages] == [4, 4, 3]
    assert whole == [name for page in pages for name in page]


def test_a_bad_cursor_or_sort_is_named(store: Store) -> None:
    with pytest.raises(ValueError, match="cursor"):
        store.reader().ledgers(cursor="rubbish")
    for position in (
        '[Infinity, "x"]',
        r'[1, "\ud800"]',
        "[" * 3000,
        "[1]",
        f'[{2**63}, "x"]',
        '[true, "x"]',
        "[1, 2]",
        "1",
    ):
        with pytest.raises(ValueError, match=r"^cursor: .* is not one of ours$"):
            store.reader().ledgers(cursor=base64.urlsafe_b64encode(position.encode()).decode())
    with pytest.raises(ValueError, match="sort"):
        store.reader().ledgers(sort="name")  # type: ignore[arg-type]


def test_attribution_sums_over_segments_and_takes_percentiles_over_conversations(store: Store) -> None:
    """D-71: 1, 2, 3, 4, 1000 have p95 800.8 by linear interpolation, which is numpy's."""
    values = [1, 2, 3, 4, 1000]
    store.save_ledgers(
        [ledger(f"c-{n}", ns - ns // 2, ns // 2) if ns > 1 else ledger("c-x", ns) for n, ns in enumerate(values)]
    ).result(10)
    (row,) = store.reader().attribution(["stage"])
    assert (row.group, row.ns, row.share, row.conversations, row.segments) == ({"stage": "model.call"}, 1010, 1.0, 5, 9)
    expected = np.quantile(values, [0.5, 0.95, 0.99])
    assert expected == pytest.approx([row.p50_ns, row.p95_ns, row.p99_ns])


def test_attribution_groups_by_several_dimensions_and_leaves_a_persons_time_out(store: Store) -> None:
    row = ledger("c-1", 10)
    more = [
        SegmentRow(1, T1, "a" * 16, "mcp.server", N0, N0 + 30, tool="find", server="orders", service="svc"),
        SegmentRow(1, T1, "b" * 16, "user.idle", N0, N0 + 500),
    ]
    store.save_ledgers([replace(row, segments=[*row.segments, *more])]).result(10)
    reader = store.reader()
    found = [(each.group, each.ns, each.share) for each in reader.attribution(["stage", "tool"])]
    assert found == [
        ({"stage": "mcp.server", "tool": "find"}, 30, 0.75),
        ({"stage": "model.call", "tool": None}, 10, 0.25),
    ]
    assert [each.ns for each in reader.attribution(["model"], LedgerFilter(model="m"))] == [10]
    assert reader.attribution(["stage"], LedgerFilter(since_ns=N0 + 1)) == []


@pytest.mark.parametrize("dimensions", [["stage", "stage"], ["stage; DROP TABLE spans"]])
def test_an_unknown_dimension_is_refused(store: Store, dimensions: Any) -> None:
    with pytest.raises(ValueError, match="group_by"):
        store.reader().attribution(dimensions)


def test_without_a_dimension_the_totals_come_and_without_segments_nothing(store: Store) -> None:
    assert store.reader().attribution([]) == []
    store.save_ledgers([ledger("c-1", 10), ledger("c-2", 30)]).result(10)
    (row,) = store.reader().attribution([])
    assert (row.group, row.ns, row.conversations, row.p50_ns) == ({}, 40, 2, 20)


def test_times_beyond_the_year_2262_fit(store: Store) -> None:
    store.save_ledgers([ledger("c-1", 2**64, started_ns=2**64 - 1, ended_ns=2**65)]).result(10)
    assert listed(store) == ["c-1"]


@pytest.mark.parametrize(("turn", "kept"), [(2**31, None), (-(2**40), None), (2**31 - 1, 2**31 - 1), (None, None)])
def test_a_turn_number_beyond_32_bits_is_none_and_its_neighbours_are_saved(
    store: Store, turn: int | None, kept: int | None
) -> None:
    segment = replace(ledger("c-1", 10).segments[0], turn=turn)
    store.save_ledgers([ledger("c-1", 10, segments=[segment], turns=2**40), ledger("c-2", 10)]).result(10)
    assert sorted(listed(store)) == ["c-1", "c-2"]
    assert store.reader()._rows("SELECT turn FROM segments ORDER BY ledger") == [(kept,), (1,)]


def test_answers_come_latest_first(store: Store) -> None:
    store.save_ledgers([ledger("c-1", 1), ledger("c-2", 1, started_ns=N0 + 1)]).result(10)
    assert [each.answer for each in store.reader().answers()] == [b"c-2", b"c-1"]
