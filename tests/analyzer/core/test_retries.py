"""Failed attempts and pauses are told apart from work, and the model's repairs from retries."""

from __future__ import annotations

import pytest
from tests.analyzer.core.scene import MS, agent, chat, http, mcp, served, span, stage_ms, tool

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_collector.span import Span, Status, Value

Said = dict[str, Value]
FAILED: Said = {semconv.ERROR_TYPE: "500"}
SAME: Said = {semconv.REQUEST_HASH: "h", semconv.HASH_KEY_ID: "k"}
ARGS: Said = {semconv.GEN_AI_TOOL_NAME: "ok", semconv.TOOL_ARGS_HASH: "h"}
ID: Said = {semconv.GEN_AI_TOOL_NAME: "ok", semconv.GEN_AI_TOOL_CALL_ID: "call-1"}


def twice(make: object, first: Said, second: Said, under: str = "agent") -> list[Span]:
    """An agent from 0 to 100 with calls from 10 to 30 and from 50 to 90."""
    assert callable(make)
    return [
        agent("agent", 0, 100),
        make("first", 10, 30, under, attributes=first),
        make("second", 50, 90, under, attributes=second),
    ]


RETRY = {Stage.AGENT_OVERHEAD: 20.0, Stage.RETRY_WASTED: 20.0, Stage.RETRY_BACKOFF: 20.0}


@pytest.mark.parametrize(
    ("make", "said", "stage"),
    [
        (chat, SAME, Stage.MODEL_CALL),
        (mcp, ARGS, Stage.MCP_OPAQUE),
        (mcp, ID, Stage.MCP_OPAQUE),
        (tool, ID, Stage.TOOL_LOCAL),
    ],
)
def test_a_failed_call_that_is_made_again_is_wasted(make: object, said: Said, stage: Stage) -> None:
    ledger = account("c", twice(make, {**said, **FAILED}, said))
    assert {**RETRY, stage: 40.0} == stage_ms(ledger)
    assert [(Stage.RETRY_WASTED, stage)] == [
        (row.stage, row.was) for row in ledger.segments if row.stage is Stage.RETRY_WASTED
    ]


@pytest.mark.parametrize(
    ("make", "first", "second"),
    [
        (chat, SAME, SAME),  # did not fail
        (chat, {**SAME, **FAILED}, {**SAME, semconv.REQUEST_HASH: "other"}),
        (chat, {**SAME, **FAILED}, {**SAME, semconv.HASH_KEY_ID: "other"}),  # not comparable
        (chat, FAILED, {}),  # nothing says that they are the same
        (mcp, {**ARGS, semconv.ERROR_TYPE: "tool_error"}, {**ARGS, semconv.TOOL_ARGS_HASH: "repaired"}),
        (mcp, {**ARGS, **FAILED}, {**ARGS, semconv.GEN_AI_TOOL_NAME: "other"}),
        (mcp, {**ARGS, **FAILED, semconv.MCP_SERVER_NAME: "one"}, {**ARGS, semconv.MCP_SERVER_NAME: "two"}),
    ],
)
def test_other_repetitions_are_no_retries(make: object, first: Said, second: Said) -> None:
    found = stage_ms(account("c", twice(make, first, second)))
    assert set() == {Stage.RETRY_WASTED, Stage.RETRY_BACKOFF} & set(found)


def test_attempts_of_one_call_need_no_hash_and_the_first_content_counts_from_the_call() -> None:
    spans = [
        agent("agent", 0, 200),
        chat("chat", 10, 190, "agent", first=150),
        span("try1", 12, 40, "chat", {semconv.RETRY_ATTEMPT: 1}, status=Status.ERROR),
        http("post1", 14, 38, "try1"),
        span("try2", 90, 188, "chat", {semconv.RETRY_ATTEMPT: 2}),
        http("post2", 92, 186, "try2"),
    ]
    assert stage_ms(account("c", spans)) == {
        Stage.AGENT_OVERHEAD: 20,
        Stage.MODEL_FIRST_TOKEN: 2 + 70,
        Stage.RETRY_WASTED: 28,
        Stage.RETRY_BACKOFF: 50,
        Stage.MODEL_GENERATE: 30,
    }


def test_requests_of_one_model_call_are_attempts_even_without_our_spans() -> None:
    spans = [
        chat("chat", 0, 100),
        http("post1", 0, 20, "chat", attributes={semconv.HTTP_RESPONSE_STATUS_CODE: 429}),
        http("post2", 60, 100, "chat", attributes={semconv.HTTP_RESPONSE_STATUS_CODE: 200}),
    ]
    assert stage_ms(account("c", spans)) == {Stage.RETRY_WASTED: 20, Stage.RETRY_BACKOFF: 40, Stage.MODEL_CALL: 40}


@pytest.mark.parametrize(("resends", "wasted"), [(1, 20), (None, 0)])
def test_elsewhere_a_client_must_say_that_it_sent_again(resends: int | None, wasted: int) -> None:
    again: Said = {semconv.HTTP_REQUEST_RESEND_COUNT: resends, semconv.HTTP_RESPONSE_STATUS_CODE: 200}
    spans = [
        tool("tool", 0, 100),
        http("get1", 0, 20, "tool", attributes={semconv.HTTP_RESPONSE_STATUS_CODE: 503}),
        http("get2", 60, 100, "tool", attributes=again),
    ]
    assert wasted == stage_ms(account("c", spans)).get(Stage.RETRY_WASTED, 0)


def test_a_redirect_is_not_wasted() -> None:
    spans = [
        tool("tool", 0, 100),
        http("get1", 0, 20, "tool", attributes={semconv.HTTP_RESPONSE_STATUS_CODE: 302}),
        http("get2", 60, 100, "tool", attributes={semconv.HTTP_REQUEST_RESEND_COUNT: 1}),
    ]
    assert Stage.RETRY_WASTED not in stage_ms(account("c", spans))


def test_a_retry_is_seen_through_the_tool_spans_around_it_and_takes_its_server_along() -> None:
    spans = [
        agent("agent", 0, 100),
        tool("tool1", 10, 30, "agent"),
        mcp("call1", 10, 30, "tool1", attributes={**ARGS, **FAILED}),
        served("work1", 12, 28, "call1"),
        tool("tool2", 50, 90, "agent"),
        mcp("call2", 50, 90, "tool2", attributes=ARGS),
    ]
    assert stage_ms(account("c", spans)) == {**RETRY, Stage.MCP_OPAQUE: 40}


def test_a_failed_probe_before_initialize_stays_handshake() -> None:
    spans = [
        agent("agent", 0, 100),
        mcp("probe", 10, 30, "agent", method="server/discover", attributes=FAILED),
        mcp("init", 30, 50, "agent", method="initialize"),
    ]
    assert stage_ms(account("c", spans)) == {Stage.AGENT_OVERHEAD: 60, Stage.MCP_HANDSHAKE: 40}


def test_a_call_that_asks_the_user_is_no_retry_and_the_pause_is_the_users() -> None:
    asks = {**ARGS, semconv.MCP_RESULT_TYPE: semconv.MCP_INPUT_REQUIRED}
    ledger = account("c", twice(mcp, asks, ARGS))
    assert stage_ms(ledger) == {Stage.AGENT_OVERHEAD: 20, Stage.MCP_OPAQUE: 60, Stage.USER_WAIT: 20}
    assert (ledger.active_ns, ledger.wait_ns) == (80 * MS, 20 * MS)


def test_work_during_a_pause_stays_work() -> None:
    spans = [*twice(mcp, {**ARGS, **FAILED}, ARGS), chat("chat", 32, 48, "agent")]
    assert stage_ms(account("c", spans)) == {
        **RETRY,
        Stage.RETRY_BACKOFF: 4,
        Stage.MODEL_CALL: 16,
        Stage.MCP_OPAQUE: 40,
    }


def test_of_three_attempts_two_are_wasted() -> None:
    spans = [
        agent("agent", 0, 100),
        *(
            mcp(f"call{n}", 30 * n, 30 * n + 10, "agent", attributes={**ARGS, **(FAILED if n < 2 else {})})
            for n in range(3)
        ),
    ]
    expected = {Stage.RETRY_WASTED: 20, Stage.RETRY_BACKOFF: 40, Stage.MCP_OPAQUE: 10, Stage.AGENT_OVERHEAD: 30}
    assert expected == stage_ms(account("c", spans))
