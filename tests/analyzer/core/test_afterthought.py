"""Spans whose times say something else than when the work was done."""

from __future__ import annotations

from dataclasses import replace

from tests.analyzer.core.scene import MS, agent, chat, span, stage_ms, tool

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_collector.span import Span

_BEEAI = "openinference.instrumentation.beeai"


def _log(end: float, under: str, *, took_s: object) -> Span:
    """What Logfire writes at the end of a stream."""
    attributes = {
        "logfire.span_type": "log",
        "duration": took_s,
        semconv.GEN_AI_USAGE_INPUT_TOKENS: 12,
        semconv.GEN_AI_RESPONSE_ID: "r-1",
    }
    return chat("log", end, end, under, attributes=attributes)


def _event(name: str, start: float, under: str, operation: str = "") -> Span:
    found = span(name, start, 99, under, {semconv.GEN_AI_OPERATION_NAME: operation} if operation else {})
    return replace(found, scope=_BEEAI)


def test_a_streamed_call_that_logfire_tells_in_two_parts_is_one_call_from_its_request_to_its_last_event() -> None:
    spans = [agent("a", 0, 100), chat("open", 10, 20, "a"), _log(90, "a", took_s=0.068)]
    ledger = account("c", spans)
    assert {Stage.AGENT_OVERHEAD: 20, Stage.MODEL_CALL: 80} == stage_ms(ledger)
    assert 12 == ledger.tokens.input
    assert {"written-at-end"} == {problem.code for problem in ledger.problems}


def test_a_log_that_says_no_sound_time_stays_a_moment() -> None:
    for took in (float("nan"), -1.0, 0, "long", 1e300):
        spans = [agent("a", 0, 100), chat("open", 10, 20, "a"), _log(90, "a", took_s=took)]
        assert {Stage.AGENT_OVERHEAD: 90, Stage.MODEL_CALL: 10} == stage_ms(account("c", spans))


def test_events_that_stay_open_to_the_end_of_the_run_last_to_the_next_one() -> None:
    spans = [
        agent("a", 0, 100),
        _event("iteration-1", 1, "a"),
        _event("backend.openai.chat.start-1", 5, "iteration-1", "chat"),
        _event("agent.react.update-2", 25, "iteration-1"),
        replace(tool("tool.search.start-3", 30, 99, "iteration-1"), scope=_BEEAI),
        _event("tool.search.finish-3", 40, "iteration-1"),
        _event("iteration-2", 50, "a"),
        _event("backend.openai.chat.start-4", 55, "iteration-2", "chat"),
        _event("agent.react.success-5", 85, "iteration-2"),
    ]
    ledger = account("c", spans)
    found = stage_ms(ledger)
    assert (50, 10) == (found[Stage.MODEL_CALL], found[Stage.TOOL_LOCAL])
    assert 100 * MS == sum(row.ns for row in ledger.segments)
    assert "left-open" in {problem.code for problem in ledger.problems}
