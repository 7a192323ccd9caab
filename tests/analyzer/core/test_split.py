"""Busy time and the equal split beside the owned time."""

from __future__ import annotations

from hypothesis import given
from tests.analyzer.core.forests import odd
from tests.analyzer.core.scene import MS, agent, chat, http, tool

from spanwise.stages import Stage
from spanwise_analyzer import split, turns
from spanwise_analyzer.account import account
from spanwise_analyzer.calls import ModelCalls
from spanwise_analyzer.segments import Facts, facts
from spanwise_collector.span import Span


def found(spans: list[Span]) -> Facts:
    tree = account("c", spans).tree
    return facts(tree, ModelCalls(tree), turns.find(tree), idle_threshold_ns=2000 * MS)


@given(odd())
def test_the_equal_split_sums_to_the_wall_clock_and_leaves_nobodys_time_alone(spans: list[Span]) -> None:
    ledger, shares = account("c", spans), split.equal_split(found(spans).ran)
    assert sum(shares.values()) == ledger.end_ns - ledger.start_ns
    nobodys = sum(row.ns for row in ledger.segments if row.span is None)
    assert nobodys <= shares[Stage.UNATTRIBUTED] + shares[Stage.USER_IDLE]


@given(odd())
def test_no_stage_owns_more_than_it_was_busy(spans: list[Span]) -> None:
    for row in account("c", spans).stages:
        assert 0 < row.ns <= row.busy_ns
        assert 0 <= row.equal_split_ns <= row.busy_ns


def test_parallel_work_is_shared_evenly_and_counted_fully_as_busy() -> None:
    spans = [
        agent("agent", 0, 100),
        chat("chat", 0, 90, "agent"),
        http("post", 5, 85, "chat"),
        tool("one", 10, 40, "agent"),
        tool("two", 10, 100, "agent"),
    ]
    rows = {row.stage: row for row in account("c", spans).stages}
    assert {stage: (row.ns // MS, row.busy_ns // MS, row.equal_split_ns // MS) for stage, row in rows.items()} == {
        Stage.TOOL_LOCAL: (90, 120, 20 + 25 + 10),
        Stage.MODEL_CALL: (10, 90, 10 + 10 + 25),
    }


def test_what_cannot_be_shared_evenly_is_still_shared_out_to_the_last_ns() -> None:
    spans = [tool("a", 0, 1e-5), chat("b", 0, 1e-5), http("c", 0, 1e-5)]
    assert sum(row.equal_split_ns for row in account("c", spans).stages) <= 10
    assert sum(split.equal_split(found(spans).ran).values()) == 10
