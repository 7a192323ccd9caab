"""Which spans are a conversation's own."""

from __future__ import annotations

from tests.analyzer.core.scene import agent, chat, codes, http, key, mcp, owned_ms, served, span, tool

from spanwise import semconv
from spanwise_analyzer.account import account
from spanwise_collector.span import Kind, Span, Value

NONE: dict[str, Value] = {semconv.GEN_AI_CONVERSATION_ID: None}


def of(conversation: str) -> dict[str, Value]:
    return {semconv.GEN_AI_CONVERSATION_ID: conversation}


def test_of_several_conversations_in_a_trace_the_nearest_ancestor_decides() -> None:
    spans = [
        http("worker", 0, 1000, kind=Kind.SERVER, attributes=NONE),
        agent("mine", 100, 200, "worker"),
        chat("ask", 120, 180, "mine", attributes=NONE),
        agent("other", 300, 500, "worker", attributes=of("d")),
        chat("ask other", 320, 480, "other", attributes=NONE),
    ]
    mine, other = account("c", spans), account("d", spans)
    assert (owned_ms(mine), codes(mine)) == ({"mine": 40, "ask": 60}, ["several-conversations"])
    assert owned_ms(other) == {"other": 40, "ask other": 160}


def test_a_trace_without_an_id_is_a_conversation_by_its_trace_id() -> None:
    lonely = agent("agent", 0, 100, attributes=NONE)
    assert owned_ms(account(lonely.trace_id, [lonely])) == {"agent": 100}


def test_spans_of_no_conversation_at_all_are_taken_as_handed_over() -> None:
    assert owned_ms(account("anything", [agent("agent", 0, 100, attributes=NONE)])) == {"agent": 100}


def test_a_child_of_another_conversations_span_goes_up_to_an_own_one() -> None:
    spans = [agent("top", 0, 100), agent("foreign", 10, 90, "top", attributes=of("d")), chat("back", 20, 80, "foreign")]
    ledger = account("c", spans)
    assert owned_ms(ledger) == {"top": 40, "back": 60}
    assert ledger.tree.nodes[key("back")].parent is ledger.tree.nodes[key("top")]


def request(number: int, start: float, end: float, **said: Value) -> Span:
    attributes = {semconv.JSONRPC_REQUEST_ID: str(number), semconv.GEN_AI_TOOL_NAME: "ok", **said}
    return mcp(f"call{number}", start, end, "agent", attributes=attributes)


def reply(number: int, start: float, end: float, **said: Value) -> Span:
    """A server part that arrived in a trace of its own, without a conversation id."""
    attributes = {**NONE, semconv.JSONRPC_REQUEST_ID: str(number), semconv.GEN_AI_TOOL_NAME: "ok", **said}
    return served(f"work{number}", start, end, trace="server", attributes=attributes)


SESSION: dict[str, Value] = {semconv.MCP_SESSION_ID: "s"}
PEER: dict[str, Value] = {semconv.SERVER_ADDRESS: "orders.internal"}


def test_a_server_part_in_another_trace_is_joined_by_its_session_and_request() -> None:
    query = span("query", 30, 50, attributes={**NONE}, trace="server", parent_id=key("work2", "server")[1])
    spans = [
        agent("agent", 0, 200),
        request(1, 10, 90, **SESSION),
        request(2, 110, 190, **SESSION),
        reply(2, 120, 180, **SESSION),
        query,
    ]
    ledger = account("c", spans)
    work = ledger.tree.nodes[key("work2", "server")]
    assert work.parent is ledger.tree.nodes[key("call2")]
    assert "server-joined" in codes(ledger)
    assert query.key in ledger.tree.nodes


def test_without_a_session_a_server_part_is_joined_only_inside_its_one_possible_request() -> None:
    spans = [agent("agent", 0, 200), request(1, 10, 90, **PEER), reply(1, 20, 80, **PEER)]
    assert account("c", spans).tree.nodes[key("work1", "server")].parent is not None
    assert owned_ms(account("c", spans)) == {"agent": 120, "call1": 20, "work1": 60}


def test_without_a_session_neither_a_later_nor_an_ambiguous_request_is_joined() -> None:
    late = [agent("agent", 0, 200), request(1, 10, 90, **PEER), reply(1, 100, 180, **PEER)]
    twins = [mcp(f"twin{n}", 10, 90, "agent", attributes=request(1, 0, 0, **PEER).attributes) for n in range(2)]
    ambiguous = [agent("agent", 0, 200), *twins, reply(1, 20, 80, **PEER)]
    for spans in (late, ambiguous):
        assert key("work1", "server") not in account("c", spans).tree.nodes


def test_an_answered_request_is_not_answered_twice() -> None:
    spans = [
        agent("agent", 0, 200),
        request(1, 10, 90, **SESSION),
        served("own", 20, 80, "call1"),
        reply(1, 20, 80, **SESSION),
    ]
    assert key("work1", "server") not in account("c", spans).tree.nodes


def test_an_orphan_goes_below_the_shortest_sound_span_that_is_longer() -> None:
    spans = [
        agent("agent", 0, 100),
        tool("wide", 10, 90, "agent"),
        tool("close", 20, 60, "agent"),
        tool("equal", 30, 50, "agent"),
        span("left", 25, 55, "agent", {semconv.ASYNC: True}),
        span("orphan", 30, 50, "lost"),
        span("below", 25, 55, "orphan"),
    ]
    nodes = account("c", spans).tree.nodes
    assert nodes[key("orphan")].parent is nodes[key("close")]
