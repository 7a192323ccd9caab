"""Which stage the time of each kind of span goes to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.analyzer.core.scene import MS, agent, chat, codes, database, http, mcp, served, span, stage_ms, tool

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_collector.span import Kind, Span, Value


def step(name: str, start: float, end: float, under: str = "") -> Span:
    return span(f"agent.step.{name}", start, end, under)


def marked(name: str, start: float, end: float, under: str, stage: str) -> Span:
    return span(name, start, end, under, {semconv.STAGE: stage})


def operation(name: str, start: float, end: float, under: str, kind: str) -> Span:
    return span(name, start, end, under, {semconv.GEN_AI_OPERATION_NAME: kind})


# The last span lasts 30 ms below an agent; what it owns has the named stage.
LEAVES = {
    "embeddings": (Stage.MODEL_EMBED, [operation("x", 10, 40, "agent", "embeddings")]),
    "plan": (Stage.MODEL_CALL, [operation("x", 10, 40, "agent", "plan")]),
    "chat": (Stage.MODEL_CALL, [chat("x", 10, 40, "agent")]),
    "retrieval": (Stage.RETRIEVAL, [operation("x", 10, 40, "agent", "retrieval")]),
    "memory": (Stage.RETRIEVAL, [operation("x", 10, 40, "agent", "search_memory")]),
    "vector search": (Stage.RETRIEVAL, [operation("r", 10, 40, "agent", "retrieval"), database("x", 10, 40, "r")]),
    "tool": (Stage.TOOL_LOCAL, [tool("x", 10, 40, "agent")]),
    "inside a tool": (Stage.TOOL_LOCAL, [tool("t", 10, 40, "agent"), span("x", 10, 40, "t")]),
    "query of a tool": (Stage.TOOL_DOWNSTREAM, [tool("t", 10, 40, "agent"), database("x", 10, 40, "t")]),
    "service of a tool": (
        Stage.TOOL_DOWNSTREAM,
        [
            tool("t", 10, 40, "agent"),
            http("h", 10, 40, "t"),
            http("s", 10, 40, "h", kind=Kind.SERVER),
            span("x", 10, 40, "s"),
        ],
    ),
    "rpc of a tool": (
        Stage.TOOL_DOWNSTREAM,
        [tool("t", 10, 40, "agent"), span("x", 10, 40, "t", {semconv.RPC_SYSTEM_NAME: "grpc"})],
    ),
    "own query": (Stage.APP_STATE, [database("x", 10, 40, "agent")]),
    "query of a step": (Stage.APP_STATE, [step("s", 10, 40, "agent"), database("x", 10, 40, "agent.step.s")]),
    "step": (Stage.AGENT_OVERHEAD, [step("x", 10, 40, "agent")]),
    "unknown": (Stage.OTHER, [span("x", 10, 40, "agent")]),
    "own request": (Stage.OTHER, [http("x", 10, 40, "agent")]),
    "opaque": (Stage.MCP_OPAQUE, [mcp("x", 10, 40, "agent")]),
    "carrier of opaque": (Stage.MCP_OPAQUE, [mcp("m", 10, 40, "agent"), http("x", 10, 40, "m")]),
    "server": (Stage.MCP_SERVER, [mcp("m", 10, 40, "agent"), served("x", 10, 40, "m")]),
    "server alone": (Stage.MCP_SERVER, [served("x", 10, 40, "agent")]),
    "inside a server": (
        Stage.MCP_SERVER,
        [mcp("m", 10, 40, "agent"), served("s", 10, 40, "m"), span("x", 10, 40, "s")],
    ),
    "tool of a server": (
        Stage.MCP_SERVER,
        [mcp("m", 10, 40, "agent"), served("s", 10, 40, "m"), tool("x", 10, 40, "s")],
    ),
    "query of a server": (
        Stage.TOOL_DOWNSTREAM,
        [mcp("m", 10, 40, "agent"), served("s", 10, 40, "m"), database("x", 10, 40, "s")],
    ),
    "model of a server": (
        Stage.MODEL_CALL,
        [mcp("m", 10, 40, "agent"), served("s", 10, 40, "m"), chat("x", 10, 40, "s")],
    ),
    "initialize": (Stage.MCP_HANDSHAKE, [mcp("x", 10, 40, "agent", method="initialize")]),
    "discover": (Stage.MCP_HANDSHAKE, [mcp("x", 10, 40, "agent", method="server/discover")]),
    "server's handshake": (
        Stage.MCP_HANDSHAKE,
        [mcp("m", 10, 40, "agent", method="initialize"), served("x", 10, 40, "m", method="initialize")],
    ),
    "carrier of a handshake": (
        Stage.MCP_HANDSHAKE,
        [mcp("m", 10, 40, "agent", method="initialize"), http("x", 10, 40, "m")],
    ),
    "list": (Stage.MCP_LIST, [mcp("x", 10, 40, "agent", method="resources/templates/list")]),
    "carrier of a list": (Stage.MCP_LIST, [mcp("m", 10, 40, "agent", method="tools/list"), http("x", 10, 40, "m")]),
    "prompt": (Stage.MCP_RESOURCE, [mcp("x", 10, 40, "agent", method="prompts/get")]),
    "resource": (Stage.MCP_RESOURCE, [mcp("x", 10, 40, "agent", method="resources/read")]),
    "elicitation": (Stage.USER_WAIT, [mcp("x", 10, 40, "agent", method="elicitation/create")]),
    "connect": (Stage.MCP_CONNECT, [span("mcp.connect orders", 10, 40, "agent")]),
    "spawn": (
        Stage.MCP_CONNECT,
        [span("mcp.connect orders", 10, 40, "agent"), span("x", 10, 40, "mcp.connect orders")],
    ),
    "close": (Stage.MCP_CLOSE, [span("mcp.close orders", 10, 40, "agent")]),
    "prepare": (Stage.PREPARE, [marked("x", 10, 40, "agent", "prepare")]),
    "inside prepare": (Stage.PREPARE, [marked("p", 10, 40, "agent", "prepare"), http("x", 10, 40, "p")]),
    "model in prepare": (Stage.MODEL_CALL, [marked("p", 10, 40, "agent", "prepare"), chat("x", 10, 40, "p")]),
    "declared": (Stage.APP_STATE, [marked("x", 10, 40, "agent", "app.state")]),
    "declared nonsense": (Stage.OTHER, [marked("x", 10, 40, "agent", "lunch")]),
    "person": (Stage.USER_WAIT, [span("x", 10, 40, "agent", {semconv.HUMAN: True})]),
    "declared wait": (Stage.USER_WAIT, [marked("x", 10, 40, "agent", "user.wait")]),
    "request of a model": (Stage.MODEL_CALL, [chat("m", 10, 40, "agent"), http("x", 10, 40, "m")]),
    "attempt": (Stage.MODEL_CALL, [chat("m", 10, 40, "agent"), span("x", 10, 40, "m", {semconv.RETRY_ATTEMPT: 1})]),
    "cache of a model": (Stage.APP_STATE, [chat("m", 10, 40, "agent"), database("x", 10, 40, "m")]),
    "sampling": (Stage.MCP_OPAQUE, [mcp("x", 10, 40, "agent", method="sampling/createMessage")]),
}


@pytest.mark.parametrize("name", LEAVES)
def test_the_time_of_a_span_goes_to_its_stage(name: str) -> None:
    stage, spans = LEAVES[name]
    expected = {Stage.AGENT_OVERHEAD: 70.0, stage: 30.0} if stage is not Stage.AGENT_OVERHEAD else {stage: 100.0}
    assert expected == stage_ms(account("c", [agent("agent", 0, 100), *spans]))


def test_the_client_part_of_an_answered_request_is_transport_with_all_that_carries_it() -> None:
    spans = [
        agent("agent", 0, 100),
        tool("tool", 10, 90, "agent"),
        mcp("ours", 12, 88, "tool"),
        mcp("native", 14, 86, "ours"),
        http("post", 20, 80, "native"),
        http("handle", 25, 75, "post", kind=Kind.SERVER),
        served("work", 30, 70, "handle"),
    ]
    assert stage_ms(account("c", spans)) == {Stage.AGENT_OVERHEAD: 24, Stage.MCP_TRANSPORT: 36, Stage.MCP_SERVER: 40}


def test_the_root_of_a_served_agent_is_overhead() -> None:
    spans = [http("root", 0, 100, kind=Kind.SERVER), chat("chat", 10, 90, "root")]
    assert stage_ms(account("c", spans)) == {Stage.AGENT_OVERHEAD: 20, Stage.MODEL_CALL: 80}


def test_a_request_below_a_streamed_call_is_cut_at_the_calls_first_content() -> None:
    spans = [chat("chat", 0, 100, first=40), http("post", 2, 98, "chat")]
    ledger = account("c", spans)
    assert stage_ms(ledger) == {Stage.MODEL_FIRST_TOKEN: 40, Stage.MODEL_GENERATE: 60}
    assert [row.ns // MS for row in ledger.segments] == [2, 38, 58, 2]


@pytest.mark.parametrize(
    ("first", "expected"), [(-5.0, (0, 100)), (0.0, (0, 100)), (100.0, (100, 0)), (1e12, (100, 0))]
)
def test_the_first_content_stays_inside_the_call(first: float, expected: tuple[int, int]) -> None:
    found = stage_ms(account("c", [chat("chat", 0, 100, first=first)]))
    assert expected == (found.get(Stage.MODEL_FIRST_TOKEN, 0), found.get(Stage.MODEL_GENERATE, 0))


CHUNK: dict[str, Value] = {semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: 0.04}


@pytest.mark.parametrize(
    ("attributes", "expected", "problems"),
    [
        (CHUNK, {Stage.MODEL_FIRST_TOKEN: 40, Stage.MODEL_GENERATE: 60}, []),
        (
            {**CHUNK, semconv.OPENAI_API_TYPE: "chat_completions"},
            {Stage.MODEL_FIRST_TOKEN: 40, Stage.MODEL_GENERATE: 60},
            [],
        ),
        ({**CHUNK, semconv.OPENAI_API_TYPE: "responses"}, {Stage.MODEL_CALL: 100}, ["chunk-is-not-content"]),
        ({**CHUNK, semconv.GEN_AI_REQUEST_STREAM: False}, {Stage.MODEL_CALL: 100}, []),
        (
            {**CHUNK, semconv.OPENAI_API_TYPE: "responses", semconv.RESPONSE_TIME_TO_FIRST_CONTENT: 0.07},
            {Stage.MODEL_FIRST_TOKEN: 70, Stage.MODEL_GENERATE: 30},
            [],
        ),
        ({}, {Stage.MODEL_CALL: 100}, []),
    ],
)
def test_the_split_of_a_call_is_never_invented(
    attributes: dict[str, Value], expected: dict[Stage, float], problems: list[str]
) -> None:
    found = chat("chat", 0, 100)
    ledger = account("c", [replace(found, attributes={**found.attributes, **attributes})])
    assert (expected, problems) == (stage_ms(ledger), codes(ledger))


@pytest.mark.parametrize(
    "spans",
    [
        [mcp("x", 10, 40, "agent", method="notifications/initialized")],
        [mcp("x", 10, 40, "agent", method="ping")],
        [mcp("x", 10, 4000, "agent", method="subscriptions/listen"), served("y", 20, 30, "x")],
        [span("x", 10, 4000, "agent", {semconv.ASYNC: True}), chat("y", 20, 30, "x")],
        [span("m", 10, 10, "agent", kind=Kind.PRODUCER), span("x", 20, 4000, "m", kind=Kind.CONSUMER)],
    ],
)
def test_what_nobody_waits_for_owns_nothing(spans: list[Span]) -> None:
    ledger = account("c", [agent("agent", 0, 100), *spans])
    assert stage_ms(ledger) == {Stage.AGENT_OVERHEAD: 100}
    assert {found.name for found in spans} - {"m"} == {node.record.name for node in ledger.tree.background}


def test_a_tool_that_fetches_a_page_waits_for_it() -> None:
    """Only below the client of an MCP request is a GET a listening stream."""
    spans = [
        agent("agent", 0, 100),
        mcp("call", 10, 60, "agent"),
        served("work", 10, 60, "call"),
        http("get", 20, 70, "work", verb="GET"),
    ]
    assert stage_ms(account("c", spans)) == {Stage.AGENT_OVERHEAD: 40, Stage.MCP_SERVER: 10, Stage.TOOL_DOWNSTREAM: 50}


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (None, {Stage.AGENT_OVERHEAD: 25, Stage.MODEL_CALL: 75}),
        (60, {Stage.AGENT_OVERHEAD: 25, Stage.MODEL_FIRST_TOKEN: 35, Stage.MODEL_GENERATE: 40}),
    ],
)
def test_what_the_sdk_does_itself_is_no_time_of_the_model(first: float | None, expected: dict[Stage, float]) -> None:
    """20 ms before the request, and 5 ms with the answer, or with the first event of a streamed one."""
    own = {semconv.CLIENT_PREPARE_TIME: 0.020, semconv.CLIENT_PARSE_TIME: 0.005}
    chunk = {} if first is None else {semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: first / 1000}
    spans = [agent("agent", 0, 100), chat("x", 0, 100, "agent", first=first, attributes={**own, **chunk})]
    assert expected == stage_ms(account("c", spans))


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, 1e300])
def test_absurd_times_of_the_sdk_leave_the_sum_whole(seconds: float) -> None:
    own = {semconv.CLIENT_PREPARE_TIME: seconds, semconv.CLIENT_PARSE_TIME: seconds}
    spans = [agent("agent", 0, 100), chat("x", 0, 100, "agent", attributes=own)]
    assert 100 == sum(stage_ms(account("c", spans)).values())
