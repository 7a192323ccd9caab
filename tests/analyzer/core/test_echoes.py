"""One call that several instrumentations report is one call, and two calls never become one."""

from __future__ import annotations

import pytest
from tests.analyzer.core.scene import agent, chat, codes, http, mcp, owned_ms, served, span, stage_ms

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_analyzer.calls import ModelCalls
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.role import Role
from spanwise_analyzer.rules.facts.view import View
from spanwise_collector.span import Span, Status, Value

Said = dict[str, Value]
USED: Said = {semconv.GEN_AI_USAGE_INPUT_TOKENS: 10, semconv.GEN_AI_USAGE_OUTPUT_TOKENS: 5}
KNOWN: Said = {semconv.REQUEST_BYTES: 2000, semconv.PROMPT_BLOCKS: ["user:h:10"], semconv.TOOLS_COUNT: 3}


def told(spans: list[Span]) -> Ledger:
    return account("c", [agent("agent", 0, 1000), *spans])


def counted(ledger: Ledger) -> list[str]:
    return [node.record.name for node in ModelCalls(ledger.tree).counted()]


def busy_ms(ledger: Ledger) -> float:
    return sum(row.busy_ns for row in ledger.stages if row.stage.group == "model") / 1e6


def identified(name: str) -> Said:
    return {**USED, semconv.GEN_AI_RESPONSE_ID: name}


@pytest.mark.parametrize("ours", [True, False], ids=["ours inside", "ours outside"])
def test_two_instrumentations_around_one_call_report_one_call(ours: bool) -> None:  # noqa: FBT001 - a parameter
    inner, outer = ("spanwise", "other") if ours else ("other", "spanwise")
    ledger = told(
        [
            chat("outer", 100, 500, "agent", attributes=USED, scope=outer),
            chat("inner", 120, 480, "outer", attributes=USED, scope=inner),
            http("post", 130, 200, "inner"),
        ]
    )
    assert (10, 5, 1) == (ledger.tokens.input, ledger.tokens.output, len(View(ledger).model_calls))
    assert (400, 400) == (busy_ms(ledger), stage_ms(ledger)[Stage.MODEL_CALL])


def test_the_one_call_knows_what_either_report_knows() -> None:
    ledger = told(
        [
            chat("theirs", 100, 500, "agent", attributes={**USED, "vendor.note": "kept"}, scope="other"),
            chat("ours", 120, 480, "theirs", first=30, attributes=KNOWN, scope="spanwise"),
        ]
    )
    (call,) = View(ledger).model_calls
    assert (2000, 10, "kept") == (call.span.integer(semconv.REQUEST_BYTES), call.input, call.span.text("vendor.note"))
    assert "ours" == call.span.name
    assert {Stage.MODEL_FIRST_TOKEN: 50, Stage.MODEL_GENERATE: 350} == {
        stage: ms for stage, ms in stage_ms(ledger).items() if stage.group == "model"
    }


def test_a_failure_that_one_report_missed_is_a_failure() -> None:
    ledger = told(
        [
            chat("theirs", 100, 500, "agent", scope="other", status=Status.OK),
            chat("ours", 120, 480, "theirs", scope="spanwise", status=Status.ERROR),
        ]
    )
    assert [True] == [call.failed for call in View(ledger).model_calls]


def test_reports_side_by_side_of_one_response_are_one_call() -> None:
    """Some instrumentations make their span afterwards, under whatever was current before the call."""
    ledger = told(
        [
            chat("theirs 1", 100, 500, "agent", attributes=identified("a"), scope="other"),
            chat("theirs 2", 101, 499, "agent", attributes=identified("b"), scope="other"),
            chat("ours 1", 110, 490, "agent", attributes=identified("a"), scope="spanwise"),
            chat("ours 2", 111, 489, "agent", attributes=identified("b"), scope="spanwise"),
        ]
    )
    assert (2, 20) == (len(View(ledger).model_calls), ledger.tokens.input)
    assert 2 * 400 - 2 == busy_ms(ledger)


def test_reports_side_by_side_without_an_id_go_with_the_nearest() -> None:
    ledger = told(
        [
            chat("theirs", 100, 500, "agent", attributes=USED, scope="other"),
            chat("ours", 110, 490, "agent", attributes=KNOWN, scope="spanwise"),
        ]
    )
    assert (1, 10, 400) == (len(View(ledger).model_calls), ledger.tokens.input, busy_ms(ledger))


def test_parallel_calls_of_one_instrumentation_stay_apart_even_if_all_responses_have_one_id() -> None:
    ledger = told(
        [
            chat(f"call {at}", 100 + at, 300 + at, "agent", attributes=identified("same"), scope="spanwise")
            for at in range(3)
        ]
    )
    assert (["call 0", "call 1", "call 2"], 30) == (counted(ledger), ledger.tokens.input)


def test_parallel_calls_stay_apart_when_each_is_reported_twice_under_one_id() -> None:
    pairs = [
        chat(f"{scope} {at}", 100 + at + late, 300 + at - late, under, attributes=identified("same"), scope=scope)
        for at in range(3)
        for scope, late, under in (("other", 0, "agent"), ("spanwise", 0.5, f"other {at}"))
    ]
    ledger = told(pairs)
    assert (3, 30) == (len(counted(ledger)), ledger.tokens.input)


def test_a_report_in_another_place_of_the_same_response_is_not_counted_again() -> None:
    ledger = told(
        [
            agent("other agent", 0, 1000),
            chat("ours", 100, 300, "agent", attributes=identified("a"), scope="spanwise"),
            chat("theirs", 110, 310, "other agent", attributes=identified("a"), scope="other"),
        ]
    )
    assert 10 == ledger.tokens.input


def test_calls_of_two_models_side_by_side_stay_apart() -> None:
    def asked(model: str) -> Said:
        return {**USED, semconv.GEN_AI_REQUEST_MODEL: model}

    ledger = told(
        [
            chat("large", 100, 500, "agent", attributes=asked("large"), scope="other"),
            chat("small", 110, 490, "agent", attributes=asked("small"), scope="spanwise"),
        ]
    )
    assert (2, 20) == (len(View(ledger).model_calls), ledger.tokens.input)


def test_a_wrapper_around_two_calls_of_another_instrumentation_is_not_one_of_them() -> None:
    ledger = told(
        [
            chat("loop", 100, 500, "agent", scope="framework"),
            chat("one", 110, 200, "loop", attributes=USED, scope="spanwise"),
            chat("two", 210, 490, "loop", attributes=USED, scope="spanwise"),
        ]
    )
    assert ["one", "two"] == counted(ledger)


def test_a_span_that_ends_at_the_first_byte_lasts_as_long_as_the_report_in_it() -> None:
    """A record of the whole stream is written down afterwards, without length: it is no call of its own."""
    model: Said = {semconv.GEN_AI_REQUEST_MODEL: "m"}
    ledger = told(
        [
            chat("request", 100, 110, "agent", attributes=model, scope="other"),
            chat("ours", 102, 400, "request", attributes={**model, **identified("a")}, scope="spanwise"),
            chat("log", 402, 402, "agent", attributes={**model, **identified("a")}, scope="other"),
        ]
    )
    assert (1, 10, 5) == (len(View(ledger).model_calls), ledger.tokens.input, ledger.tokens.output)
    assert 300 == stage_ms(ledger)[Stage.MODEL_CALL]


def test_a_record_of_a_stream_belongs_to_the_call_before_it_where_no_id_tells() -> None:
    model: Said = {semconv.GEN_AI_REQUEST_MODEL: "m"}
    ledger = told(
        [
            chat("request", 100, 110, "agent", attributes=model, scope="other"),
            chat("log", 402, 402, "agent", attributes={**model, **identified("a")}, scope="other"),
        ]
    )
    assert (1, 10) == (len(View(ledger).model_calls), ledger.tokens.input)


def test_an_mcp_request_that_is_reported_twice_is_one_request() -> None:
    name: Said = {semconv.GEN_AI_TOOL_NAME: "find"}
    ledger = told(
        [
            mcp("theirs", 100, 500, "agent", attributes=name, scope="other"),
            mcp("ours", 110, 490, "theirs", attributes={**name, semconv.TOOL_ARGS_BYTES: 7}, scope="spanwise"),
            http("post", 120, 480, "ours"),
            served("server", 130, 470, "ours", attributes=name, scope="mcp-python-sdk", process="server"),
        ]
    )
    assert 1 == len([node for node in ledger.tree.blocking() if node.role is Role.MCP_CLIENT])
    (call,) = View(ledger).tool_calls
    assert (7, ["server"]) == (call.integer(semconv.TOOL_ARGS_BYTES), [node.record.name for node in call.work()])
    assert {"agent": 600.0, "ours": 40.0, "post": 20.0, "server": 340.0} == owned_ms(ledger)


def test_a_handshake_that_is_reported_twice_sets_up_one_session() -> None:
    ledger = told(
        [
            mcp("theirs", 100, 200, "agent", method="initialize", scope="other"),
            mcp("ours", 110, 190, "theirs", method="initialize", scope="spanwise"),
        ]
    )
    assert 1 == len(View(ledger).set_ups)


def test_people_are_told_once_for_each_instrumentation() -> None:
    spans = [
        chat(f"{scope} {at}", at + late, at + 50 - late, under, scope=scope)
        for at in (100, 200, 300)
        for scope, late, under in (("other", 0, "agent"), ("spanwise", 1, f"other {at}"))
    ]
    assert ["reported-twice"] == codes(told(spans))


def test_a_span_that_says_nothing_may_stand_between_two_reports() -> None:
    ledger = told(
        [
            chat("theirs", 100, 500, "agent", attributes=USED, scope="other"),
            span("middle", 110, 490, "theirs"),
            chat("ours", 120, 480, "middle", attributes=USED, scope="spanwise"),
        ]
    )
    assert (1, 10) == (len(View(ledger).model_calls), ledger.tokens.input)


def test_the_request_of_an_attempt_is_no_work_beside_it() -> None:
    attempt: Said = {semconv.RETRY_ATTEMPT: 1}
    again: Said = {semconv.RETRY_ATTEMPT: 2}
    ledger = told(
        [
            chat("call", 100, 500, "agent", scope="spanwise"),
            span("attempt 1", 110, 200, "call", {**attempt, semconv.ERROR_TYPE: "500"}),
            http("post 1", 115, 195, "call"),
            span("attempt 2", 300, 500, "call", again),
            http("post 2", 305, 500, "call"),
        ]
    )
    busy = {row.stage: row.busy_ns / 1e6 for row in ledger.stages}
    assert {Stage.MODEL_CALL: 210, Stage.RETRY_WASTED: 90, Stage.RETRY_BACKOFF: 100} == {
        stage: ms for stage, ms in busy.items() if stage is not Stage.AGENT_OVERHEAD
    }


def test_a_servers_part_that_another_instrumentation_took_for_its_own_goes_below_its_request() -> None:
    ledger = told(
        [
            span("theirs", 100, 500, "agent", scope="other"),
            mcp("list", 110, 490, "theirs", method="tools/list", scope="spanwise"),
            served("listed", 200, 300, "theirs", method="tools/list", scope="spanwise", process="server"),
        ]
    )
    assert "list" == next(
        node.parent.record.name for node in ledger.tree.blocking() if node.record.name == "listed" and node.parent
    )


@pytest.mark.parametrize(("start", "end"), [(195, 305), (205, 305), (205, 295)])
def test_a_servers_work_is_its_own_whatever_else_was_said_of_the_request(start: float, end: float) -> None:
    ledger = told(
        [
            mcp("ours", 100, 500, "agent", scope="spanwise"),
            served("server", 200, 300, "ours", scope="spanwise", process="server"),
            span("handled", start, end, "ours", scope="other", process="server"),
        ]
    )
    assert 95 <= stage_ms(ledger)[Stage.MCP_SERVER] <= 105
    assert 400 == sum(row.busy_ns for row in ledger.stages if row.stage is not Stage.AGENT_OVERHEAD) / 1e6


@pytest.mark.parametrize("ends", [380, 420], ids=["inside", "after"])
def test_a_wrapper_beside_the_http_request_does_not_hide_the_servers_work(ends: float) -> None:
    ledger = told(
        [
            mcp("ours", 100, 500, "agent", scope="spanwise"),
            span("wrapper", 110, 400, "ours", scope="other"),
            http("post", 120, ends, "ours"),
            served("server", 150, 350, "wrapper", scope="mcp-python-sdk", process="server"),
        ]
    )
    assert 200 == stage_ms(ledger)[Stage.MCP_SERVER]
    assert 400 == sum(row.busy_ns for row in ledger.stages if row.stage is not Stage.AGENT_OVERHEAD) / 1e6
