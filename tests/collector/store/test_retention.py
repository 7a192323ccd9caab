from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanwise_collector.store import (
    DIMENSIONS,
    AttributionRow,
    LedgerFilter,
    LedgerRow,
    Policy,
    Retention,
    SegmentRow,
    Store,
    pruning,
)
from spanwise_collector.store.hours import ERROR, HOUR_NS
from spanwise_collector.store.usage import Usage

N0 = 1_700_000_000_000_000_000 // HOUR_NS * HOUR_NS
TRACE = "0af7651916cd43dd8448eb211c80319c"
OF_STEPS = ("spans", "touches", "mcp_clients", "mcp_servers", "batches")
AGED = Policy(days=1e-9)


def request(otlp: Any, spans: int, *, seed: int) -> bytes:
    """Traces of 16 spans, each of another conversation; a third of them are MCP calls, all hold random text."""
    rng = np.random.default_rng(seed)
    found = []
    for n in range(spans):
        call = {"mcp.method.name": "tools/call", "jsonrpc.request.id": str(n), "gen_ai.tool.name": "find"}
        names = {"gen_ai.conversation.id": f"c-{seed}-{n // 16}", "note": rng.bytes(32).hex()}
        trace = f"{seed + 1:016x}{n // 16 + 1:016x}"
        found.append(otlp.span(trace=trace, kind=3, attributes=names if n % 3 else {**names, **call}))
    body: bytes = otlp.body(*found)
    return body


def count(store: Store, table: str) -> int:
    found: int = store.reader()._rows(f"SELECT count(*) FROM {table}")[0][0]  # noqa: S608
    return found


def retained(store: Store, policy: Policy, *, accounted: int | None = None) -> int:
    """One round of deletion; returns the spans deleted."""
    upto = store.reader().seq() if accounted is None else accounted
    return Retention(store, policy, lambda: upto).round()


def ledger(name: str, *segments: SegmentRow, **changes: Any) -> LedgerRow:
    ns = sum(each.end_ns - each.start_ns for each in segments)
    row = LedgerRow(
        name, 1, "svc", "a", N0, N0 + ns, ns, 1, "ok", "model.call", ns, None, answer=name.encode(), segments=segments
    )
    return replace(row, **changes)


def segment(stage: str, ns: int, *, at: int = 0, **names: str) -> SegmentRow:
    return SegmentRow(1, TRACE, "1" * 16, stage, N0 + at, N0 + at + ns, service="svc", agent="a", **names)


def conversations() -> list[LedgerRow]:
    rng = np.random.default_rng(7)
    rows = []
    for number in range(60):
        first, generate, tool, other = (int(ns) for ns in rng.lognormal(18, 1.5, 4))
        rows.append(
            ledger(
                f"conversation-{number}",
                segment("model.first_token", first, model="m"),
                segment("model.generate", generate, model="n" if number % 3 else "m"),
                segment("mcp.server", tool, tool=f"t{number % 4}", server=f"s{number % 2}"),
                segment("mcp.server", other, tool=f"t{number % 5}", server=f"s{number % 2}"),
                segment("user.idle", 10**12),
            )
        )
    return rows


def freeze(store: Store, otlp: Any, rows: Sequence[LedgerRow], *, trace: int = 1) -> None:
    """Store the ledgers and delete one span of each of their conversations."""
    spans = [
        otlp.span(trace=f"{trace + n:032x}", attributes={"gen_ai.conversation.id": row.conversation_id})
        for n, row in enumerate(rows)
    ]
    store.submit(otlp.body(*spans)).result(10)
    store.save_ledgers(rows).result(10)
    assert retained(store, AGED) == len(rows)


def test_batches_past_their_age_go_with_everything_noted_of_them_and_younger_ones_stay(store: Store, otlp: Any) -> None:
    for seed in range(3):
        store.submit(request(otlp, 64, seed=seed)).result(10)
    store._database.cursor().execute("UPDATE batches SET arrived_ns = arrived_ns - 259200000000000 WHERE seq < 3")
    kept = store.reader().spans(_conversation(store, 3))
    assert retained(store, Policy(days=2)) == 128
    for table in OF_STEPS:
        assert store.reader()._rows(f"SELECT DISTINCT seq FROM {table}") in ([(3,)], []), table  # noqa: S608
    assert kept == store.reader().spans(_conversation(store, 3))
    assert retained(store, Policy(days=2)) == 0


def _conversation(store: Store, seq: int) -> str:
    found: str = store.reader()._rows("SELECT min(conversation_id) FROM touches WHERE seq = $seq", {"seq": seq})[0][0]
    return found


def test_after_everything_is_deleted_numbers_go_on_and_no_damage_is_seen(tmp_path: Path, otlp: Any) -> None:
    store = Store.open(tmp_path / "spans.db")
    for seed in range(3):
        store.submit(request(otlp, 64, seed=seed)).result(10)
    assert retained(store, AGED) == 192
    assert [count(store, table) for table in OF_STEPS] == [0, 0, 0, 0, 1]
    store.close()
    again = Store.open(tmp_path / "spans.db")
    assert again.damage is None
    again.submit(request(otlp, 64, seed=9)).result(10)
    assert (again.reader().seq(), again.reader().stored()) == (4, 64)
    again.close()


def test_what_no_ledger_was_computed_from_is_not_deleted(store: Store, otlp: Any) -> None:
    for seed in range(3):
        store.submit(request(otlp, 64, seed=seed)).result(10)
    assert retained(store, AGED, accounted=1) == 64
    assert store.reader().oldest() == 2


def test_a_conversation_that_lost_spans_keeps_its_answer_and_is_never_computed_shorter(store: Store, otlp: Any) -> None:
    freeze(store, otlp, [ledger("c", segment("model.call", 50))])
    store.save_ledgers([ledger("c", segment("model.call", 7), seq=9, answer=b"shorter")]).result(10)
    stored = store.reader().ledger("c")
    assert stored is not None
    assert (stored.answer, stored.frozen, store.reader().has("c")) == (b"c", True, True)
    assert [(row.ns, row.conversations) for row in store.reader().attribution(["stage"])] == [(50, 1)]
    assert count(store, "segments") == 0


def test_a_trace_that_gets_a_name_later_keeps_its_frozen_answer(store: Store, otlp: Any) -> None:
    store.submit(otlp.body(otlp.span(trace=TRACE, attributes={"gen_ai.operation.name": "chat"}))).result(10)
    store.save_ledgers([ledger(TRACE, segment("model.call", 50))]).result(10)
    assert retained(store, AGED) == 1
    store.submit(otlp.body(otlp.span(trace=TRACE, attributes={"gen_ai.conversation.id": "late"}))).result(10)
    store.chore(lambda _: None).result(10)  # what the commit is followed by is done
    assert store.reader().ledger(TRACE) is not None


SUBSETS = [
    subset for size in range(len(DIMENSIONS) + 1) for subset in itertools.combinations(DIMENSIONS, size)
]  # fmt: skip


def test_hours_tell_every_group_the_same_sums_and_percentiles_within_the_stated_error(store: Store, otlp: Any) -> None:
    rows = conversations()
    store.save_ledgers(rows).result(10)
    before = {subset: _groups(store.reader().attribution(subset)) for subset in SUBSETS}
    freeze(store, otlp, rows)
    assert ERROR < 0.02
    for subset in SUBSETS:
        after = _groups(store.reader().attribution(subset))
        assert before[subset].keys() == after.keys(), subset
        for group, exact in before[subset].items():
            _check(exact, after[group])


def test_hours_and_conversations_that_still_have_segments_add_up(store: Store, otlp: Any) -> None:
    rows = conversations()
    store.save_ledgers(rows).result(10)
    chosen = LedgerFilter(tool="t1", since_ns=N0, until_ns=N0 + 1)
    whole = _groups(store.reader().attribution(["stage", "model"]))
    tool = _groups(store.reader().attribution(["server"], chosen))
    freeze(store, otlp, rows[:40])
    for group, exact in whole.items():
        _check(exact, _groups(store.reader().attribution(["stage", "model"]))[group])
    for group, exact in tool.items():
        _check(exact, _groups(store.reader().attribution(["server"], chosen))[group])
    assert store.reader().attribution(["stage"], LedgerFilter(since_ns=N0 + HOUR_NS)) == []
    (alone, *_) = store.reader().attribution(["stage"], LedgerFilter(status="ok"))
    assert (alone.estimated, alone.conversations) == (False, 20)


def _groups(rows: Sequence[AttributionRow]) -> dict[tuple[str | None, ...], AttributionRow]:
    return {tuple(row.group.values()): row for row in rows}


def _check(exact: AttributionRow, estimate: AttributionRow) -> None:
    assert (exact.ns, exact.share, exact.segments) == (estimate.ns, estimate.share, estimate.segments)
    assert (exact.conversations, estimate.estimated) == (estimate.conversations, True)
    for name in ("p50_ns", "p95_ns", "p99_ns"):
        assert getattr(exact, name) == pytest.approx(getattr(estimate, name), rel=ERROR * 1.001 / (1 - ERROR)), name


def test_hours_are_told_apart_and_condensing_them_changes_nothing(store: Store, otlp: Any) -> None:
    late = ledger("c-2", segment("model.call", 10, at=HOUR_NS), started_ns=N0 + HOUR_NS)
    freeze(store, otlp, [ledger("c-1", segment("model.call", 10)), late])
    freeze(store, otlp, [ledger("c-3", segment("model.call", 10))], trace=9)
    assert store.reader().loose_hours() == []
    first = store.reader().attribution(["stage"], LedgerFilter(until_ns=N0 + HOUR_NS))
    second = store.reader().attribution(["stage"], LedgerFilter(since_ns=N0 + HOUR_NS))
    assert [(20, 2), (10, 1)] == [(row.ns, row.conversations) for row in (*first, *second)]


def test_answers_and_hours_go_when_their_own_time_is_over_and_others_stay(store: Store, otlp: Any) -> None:
    now = time.time_ns()
    young = ledger("young", segment("model.call", 10, at=now - N0), started_ns=now)
    freeze(store, otlp, [ledger("old", segment("model.call", 10)), young])
    store.save_ledgers([ledger("whole", segment("model.call", 10))]).result(10)
    retained(store, Policy(aggregate_days=1))
    found = [row.conversation_id for row in store.reader().ledgers().rows]
    assert found == ["young", "whole"]
    assert store.reader()._rows("SELECT DISTINCT hour FROM hours") == [(now // HOUR_NS,)]


def test_deleting_frees_blocks_and_the_next_spans_use_them(tmp_path: Path, otlp: Any) -> None:
    store = Store.open(tmp_path / "spans.db")
    store.chore(pruning.prepare).result(10)
    bodies = [request(otlp, 256, seed=seed) for seed in range(4)]
    sizes = []
    retention = Retention(store, Policy(nbytes=4_000_000), lambda: store.reader().seq() - 1)
    for _ in range(12):
        for body in bodies:
            store.submit(body).result(10)
        store._database.cursor().execute("CHECKPOINT")
        retention.round()
        sizes.append(store.reader().blocks()[1])
    left = store.reader().stored()
    store.close()
    assert max(sizes) < 10_000_000  # 14 MB without
    assert left > 1024


def test_what_was_deleted_but_is_not_free_yet_is_not_deleted_again() -> None:
    blocks = [(1000, 1000)]
    usage = Usage(lambda: blocks[0])
    assert usage.excess_spans(0, 100) == 0
    assert usage.excess_spans(500, 100) == 53
    usage.freed(53)
    assert usage.excess_spans(500, 47) == 0
    for used in (990, 480):
        blocks[0] = (used, 1000)
        assert usage.excess_spans(500, 47) == 0


@pytest.mark.soak
def test_senders_do_not_notice_the_deletion_of_a_million_spans(tmp_path: Path, otlp: Any) -> None:
    store = Store.open(tmp_path / "spans.db")
    bodies = [request(otlp, 512, seed=seed) for seed in range(64)]
    for _ in range(32):
        for future in [store.submit(body) for body in bodies]:
            future.result(60)
    took, ending = [], threading.Event()

    def send() -> None:
        while not ending.is_set():
            began = time.perf_counter()
            store.submit(bodies[0]).result(60)
            took.append(time.perf_counter() - began)

    sender = threading.Thread(target=send)
    sender.start()
    chores: list[float] = []
    last = store.reader().seq()
    retention = Retention(store, AGED, lambda: last)
    plain = retention._do

    def timed(work: Any, *, spans: int = 0) -> float:
        chores.append(plain(work, spans=spans))
        return chores[-1]

    retention._do = timed  # type: ignore[method-assign]  # measured, not replaced
    assert retention.round() > 1_000_000
    ending.set()
    sender.join()
    store.close()
    assert max(chores) < 0.1, f"{len(chores)} steps, acknowledgements at most {max(took)} s"
