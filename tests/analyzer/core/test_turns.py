"""Where turns begin and end, and whose time lies between them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.analyzer.core.scene import MS, agent, chat, codes, http, mcp, span, stage_ms, tool

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_analyzer.ledger import Ledger
from spanwise_collector.span import Kind, Span, Status, Value

STOP: dict[str, Value] = {semconv.GEN_AI_RESPONSE_FINISH_REASONS: ["stop"]}
CALLS: dict[str, Value] = {semconv.GEN_AI_RESPONSE_FINISH_REASONS: ["tool_calls"]}


def turns(ledger: Ledger) -> list[tuple[int, str, float, float]]:
    return [(turn.number, turn.root.name, turn.start_ns / MS, turn.active_ns / MS) for turn in ledger.turns]


def test_each_agent_root_is_a_turn_and_the_time_between_is_the_users() -> None:
    ledger = account("c", [agent("one", 0, 100), agent("two", 150, 300, trace="u")])
    assert turns(ledger) == [(1, "one", 0, 100), (2, "two", 150, 150)]
    assert (ledger.active_ns, ledger.idle_ns) == (250 * MS, 50 * MS)


def test_the_programs_own_numbers_are_kept_and_one_number_is_one_turn() -> None:
    numbered = {semconv.TURN: 7}
    ledger = account(
        "c",
        [
            agent("early", 0, 100),
            agent("ask", 200, 300, attributes=numbered),
            agent("check", 350, 400, trace="u", attributes=numbered),
            agent("late", 500, 600),
        ],
    )
    assert turns(ledger) == [(1, "early", 0, 100), (7, "ask", 200, 200), (2, "late", 500, 100)]
    assert stage_ms(ledger) == {Stage.AGENT_OVERHEAD: 350, Stage.USER_IDLE: 200, Stage.UNATTRIBUTED: 50}


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
