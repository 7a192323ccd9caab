"""Where turns begin and end, and whose time lies between them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.analyzer.core.scene import MS, agent, chat, codes, http, mcp, served, span, stage_ms, tool

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_analyzer.ledger import Ledger
from spanwise_collector.span import Kind, Span, Status, Value

STOP: dict[str, Value] = {semconv.GEN_AI_RESPONSE_FINISH_REASONS: ["stop"]}
CALLS: dict[str, Value] = {semconv.GEN_AI_RESPONSE_FINISH_REASONS: ["tool_calls"]}


def numbered(turn: int) -> dict[str, Value]:
    return {semconv.TURN: turn}


def turns(ledger: Ledger) -> list[tuple[int, str, float, float]]:
    return [(turn.number, turn.root.name, turn.start_ns / MS, turn.active_ns / MS) for turn in ledger.turns]


def test_each_agent_root_is_a_turn_and_the_time_between_is_the_users() -> None:
    ledger = account("c", [agent("one", 0, 100), agent("two", 150, 300, trace="u")])
    assert turns(ledger) == [(1, "one", 0, 100), (2, "two", 150, 150)]
    assert (ledger.active_ns, ledger.idle_ns) == (250 * MS, 50 * MS)


def test_the_programs_own_numbers_are_kept_and_one_number_in_one_trace_is_one_turn() -> None:
    ledger = account(
        "c",
        [
            agent("early", 0, 100),
            agent("ask", 200, 300, attributes=numbered(7)),
            agent("check", 350, 400, attributes=numbered(7)),
            agent("late", 500, 600),
        ],
    )
    assert turns(ledger) == [(1, "early", 0, 100), (7, "ask", 200, 200), (2, "late", 500, 100)]
    assert stage_ms(ledger) == {Stage.AGENT_OVERHEAD: 350, Stage.USER_IDLE: 200, Stage.UNATTRIBUTED: 50}


def test_two_processes_that_both_count_from_one_have_a_turn_each() -> None:
    spans = [
        agent("second", 3300, 3600, trace="u", attributes=numbered(1)),
        agent("first", 0, 300, attributes=numbered(1)),
    ]
    ledger = account("c", spans)
    assert turns(ledger) == [(1, "first", 0, 300), (2, "second", 3300, 300)]
    assert stage_ms(ledger) == {Stage.AGENT_OVERHEAD: 600, Stage.USER_IDLE: 3000}


def test_where_numbers_collide_turns_are_numbered_by_time() -> None:
    spans = [
        agent(f"{trace} {number}", start, start + 100, trace=f"{trace} {number}", attributes=numbered(number))
        for trace, number, start in [("a", 1, 0), ("b", 1, 50), ("a", 2, 7_200_000), ("b", 2, 9_000_000)]
    ]
    ledger = account("c", spans)
    assert [(turn.number, turn.root.name) for turn in ledger.turns] == [(1, "a 1"), (2, "b 1"), (3, "a 2"), (4, "b 2")]
    assert ledger.active_ns == 350 * MS


@pytest.mark.parametrize(("start", "end"), [(100, 200), (250, 300), (-50, 50), (300, 400), (-100, 0)])
def test_an_orphan_of_another_trace_joins_the_turn_of_its_number_that_it_touches(start: float, end: float) -> None:
    spans = [
        agent("turn", 0, 300, attributes=numbered(3)),
        served("orphan", start, end, trace="u", attributes=numbered(3)),
    ]
    ledger = account("c", spans)
    assert [(turn.number, turn.root.name) for turn in ledger.turns] == [(3, "turn")]
    assert {segment.turn for segment in ledger.segments} == {3}


def test_an_orphan_joins_the_one_of_two_turns_of_its_number_that_holds_it() -> None:
    spans = [
        agent("one", 0, 9000, attributes=numbered(1)),
        agent("two", 8000, 8100, trace="v", attributes=numbered(1)),
        tool("orphan", 8500, 9500, trace="u", attributes=numbered(1)),
    ]
    assert turns(account("c", spans)) == [(1, "one", 0, 9400), (2, "two", 8000, 100)]


def test_what_a_server_did_minutes_away_is_no_turn_and_makes_none_longer() -> None:
    spans = [
        agent("turn", 0, 300, attributes=numbered(1)),
        served("stale", 180_000, 180_010, trace="u", attributes=numbered(1)),
    ]
    ledger = account("c", spans)
    assert turns(ledger) == [(1, "turn", 0, 300)]
    assert (ledger.turns[0].end_ns, ledger.active_ns, ledger.idle_ns) == (300 * MS, 310 * MS, 179_700 * MS)
    assert Stage.UNATTRIBUTED not in stage_ms(ledger)


def test_loose_work_minutes_away_is_a_turn_of_its_trace() -> None:
    spans = [
        agent("turn", 0, 300, attributes=numbered(1)),
        chat("lost", 60_000, 60_100, trace="u", parent_id="f" * 16, attributes=numbered(1)),
        tool("look up", 60_150, 60_200, trace="u", parent_id="f" * 16),
    ]
    ledger = account("c", spans)
    assert turns(ledger) == [(1, "turn", 0, 300), (2, "lost", 60_000, 200)]
    assert ledger.idle_ns == 59_700 * MS


def test_an_orphan_in_the_trace_of_a_turn_belongs_to_it_but_does_not_make_it_longer() -> None:
    spans = [agent("turn", 0, 300), tool("orphan", 60_000, 60_100, parent_id="f" * 16)]
    ledger = account("c", spans)
    assert turns(ledger) == [(1, "turn", 0, 400)]
    assert (ledger.turns[0].end_ns, ledger.idle_ns) == (300 * MS, 59_700 * MS)


def test_a_session_opened_before_the_first_turn_is_active_time_outside_of_it() -> None:
    spans = [
        span("mcp.connect orders", 0, 400),
        mcp("initialize", 100, 350, "mcp.connect orders", method="initialize"),
        agent("turn", 1000, 2000, trace="u"),
        span("mcp.close orders", 2500, 2600, trace="v"),
    ]
    ledger = account("c", spans)
    assert turns(ledger) == [(1, "turn", 1000, 1000)]
    assert stage_ms(ledger) == {
        Stage.MCP_CONNECT: 150,
        Stage.MCP_HANDSHAKE: 250,
        Stage.USER_IDLE: 1100,
        Stage.AGENT_OVERHEAD: 1000,
        Stage.MCP_CLOSE: 100,
    }


def test_calls_without_any_agent_are_one_turn_per_trace() -> None:
    spans = [chat("ask", 0, 100), tool("look up", 150, 200), chat("answer", 250, 300)]
    ledger = account("c", spans)
    assert turns(ledger) == [(1, "ask", 0, 300)]
    assert stage_ms(ledger)[Stage.UNATTRIBUTED] == 100


@pytest.mark.parametrize(("gap", "stage"), [(1999, Stage.UNATTRIBUTED), (2001, Stage.USER_IDLE)])
def test_between_traces_without_an_agent_only_a_long_gap_is_the_users(gap: int, stage: Stage) -> None:
    ledger = account("c", [chat("one", 0, 100), chat("two", 100 + gap, 3000, trace="u")])
    assert stage_ms(ledger)[stage] == gap
    assert len(ledger.turns) == 2


def test_late_work_belongs_to_the_turn_that_started_it() -> None:
    spans = [
        agent("one", 0, 100),
        agent("two", 200, 300),
        tool("late", 400, 500, "one"),
    ]
    ledger = account("c", spans)
    assert turns(ledger) == [(1, "one", 0, 200), (2, "two", 200, 100)]
    assert stage_ms(ledger) == {Stage.AGENT_OVERHEAD: 200, Stage.TOOL_LOCAL: 100, Stage.USER_IDLE: 200}


def test_the_first_token_of_a_turn_is_that_of_its_last_model_call() -> None:
    spans = [
        agent("one", 1000, 2000),
        chat("ask", 1100, 1300, "one", first=20),
        chat("answer", 1500, 1900, "one", first=70),
        agent("two", 3000, 4000),
        chat("whole", 3100, 3900, "two"),
    ]
    assert [turn.ttft_ns for turn in account("c", spans).turns] == [570 * MS, None]


@pytest.mark.parametrize(
    ("roots", "expected"),
    [
        ([agent("one", 0, 100)], "ok"),
        ([agent("one", 0, 100), agent("two", 200, 300, status=Status.ERROR)], "error"),
        ([agent("one", 0, 100, status=Status.ERROR), agent("two", 200, 0)], "open"),
        ([agent("one", 0, 100), tool("failed", 10, 20, "one", status=Status.ERROR)], "ok"),
        ([], "ok"),
    ],
)
def test_status_is_that_of_the_turns(roots: list[Span], expected: str) -> None:
    assert account("c", roots).status == expected


def test_an_unfinished_turn_lasts_as_long_as_what_it_waits_for() -> None:
    spans = [
        agent("open", 10, 0),
        chat("chat", 20, 90, "open"),
        span("left", 30, 5000, "open", {semconv.ASYNC: True}),
    ]
    ledger = account("c", spans)
    assert (ledger.status, ledger.active_ns, codes(ledger)) == ("open", 80 * MS, ["unfinished"])


def session(reasons: dict[str, Value], pause: float = 3000, **root: Any) -> list[Span]:
    """One root over two questions."""
    return [
        http("root", 0, 2000 + pause, kind=Kind.SERVER, **root),
        chat("one", 0, 1000, "root", attributes=reasons),
        chat("two", 1000 + pause, 2000 + pause, "root"),
    ]


def test_a_long_pause_after_an_answer_is_the_users_when_one_span_holds_the_whole_session() -> None:
    ledger = account("c", session(STOP))
    assert stage_ms(ledger) == {Stage.MODEL_CALL: 2000, Stage.USER_IDLE: 3000}
    assert codes(ledger) == ["idle-inferred"]
    assert [row.was for row in ledger.segments if row.stage is Stage.USER_IDLE] == [Stage.AGENT_OVERHEAD]


@pytest.mark.parametrize(
    "spans",
    [
        session(CALLS),
        session({}),
        session(STOP, pause=1500),
        session(STOP, attributes={semconv.TURN: 1}),
        [*session(STOP), tool("work", 2000, 2010, "root")],
    ],
)
def test_other_pauses_of_the_root_stay_its_own(spans: list[Span]) -> None:
    ledger = account("c", spans)
    assert (ledger.idle_ns, codes(ledger)) == (0, [])


def test_the_threshold_of_a_pause_can_be_set() -> None:
    assert account("c", session(STOP), idle_threshold_ns=4000 * MS).idle_ns == 0


def test_the_service_is_that_of_the_first_turn() -> None:
    spans = [span("mcp.connect x", 0, 10, service="tool"), agent("turn", 20, 30, service="agent")]
    assert account("c", spans).service == "agent"
    assert account("c", []).service == "unknown_service"


@pytest.mark.parametrize("number", [0, -1, 2**31, 10**18])
def test_a_number_that_no_turn_can_have_is_ignored(number: int) -> None:
    """One such span made every list and /metrics answer 500."""
    assert [turn.number for turn in account("c", [agent("turn", 0, 30, attributes={semconv.TURN: number})]).turns] == [
        1
    ]
