"""Trees that broke other tools, as their users reported them."""

from __future__ import annotations

from tests.analyzer.core.scene import (
    MS,
    agent,
    chat,
    codes,
    key,
    mcp,
    owned_ms,
    served,
    span,
    stage_ms,
    tool,
)  # fmt: skip

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_collector.span import Kind


def usage(tokens_in: int, tokens_out: int) -> dict[str, int]:
    return {semconv.GEN_AI_USAGE_INPUT_TOKENS: tokens_in, semconv.GEN_AI_USAGE_OUTPUT_TOKENS: tokens_out}


def test_an_end_before_the_start_is_no_duration_and_flagged() -> None:
    ledger = account("c", [span("bad", 10, 9.999999), span("good", 10, 30)])
    assert owned_ms(ledger) == {"good": 20}
    assert codes(ledger) == ["end-before-start"]
    assert round(9.999999 * MS) == ledger.tree.nodes[key("bad")].record.end_ns


def test_only_a_request_and_its_server_part_prove_a_skewed_clock() -> None:
    parent = mcp("parent", 10_000, 10_100, process="a")
    unknown = span("unknown", 10_098, 10_099, "parent")
    late = span("late", 13_000, 13_040, "parent", process="b")
    early = served("early", 8_000, 8_040, "parent", process="c")
    ledger = account("c", [parent, unknown, late, early])
    starts = {name: ledger.tree.nodes[key(name)].start_ns // MS for name in ("unknown", "late", "early")}
    assert starts == {"unknown": 10_098, "late": 13_000, "early": 10_030}
    assert "clock-shifted" in ledger.tree.nodes[key("early")].flags
    assert ledger.tree.nodes[key("early")].record.start_ns == 8_000 * MS
    assert ledger.segments == account("c", [parent, unknown, late, early]).segments


def test_a_server_that_worked_on_after_its_client_gave_up_is_not_moved() -> None:
    spans = [mcp("call", 0, 200, process="a"), served("work", 10, 3000, "call", process="b")]
    ledger = account("c", spans)
    assert ledger.tree.nodes[key("work")].start_ns == 10 * MS
    assert codes(ledger) == []


def test_offsets_add_up_along_a_chain_of_servers() -> None:
    spans = [
        mcp("one", 0, 100, process="a"),
        served("two", 1010, 1090, "one", process="b"),
        mcp("three", 1020, 1080, "two", process="b"),
        served("four", 530, 570, "three", process="c"),
    ]
    ledger = account("c", spans)
    starts = {node.record.name: node.start_ns // MS for node in ledger.tree.blocking()}
    assert starts == {"one": 0, "two": 10, "three": 20, "four": 30}
    assert ledger.active_ns == 100 * MS


def test_requests_that_no_single_offset_explains_are_told() -> None:
    spans = [agent("agent", 0, 10_000, process="a")]
    for number, skew in enumerate((1000, 2000, 2100)):
        spans += [
            mcp(f"call{number}", 3000 * number, 3000 * number + 100, "agent", process="a"),
            served(f"work{number}", 3000 * number + 10 + skew, 3000 * number + 90 + skew, f"call{number}", process="b"),
        ]
    ledger = account("c", spans)
    assert "clock-inconsistent" in codes(ledger)
    node = ledger.tree.nodes[key("work0")]
    assert node.start_ns - node.record.start_ns == -2000 * MS


def test_a_span_whose_parent_never_comes_is_counted_where_it_lies() -> None:
    spans = [agent("A", 0, 100), tool("C", 20, 60, "M"), span("D", 30, 50, "C")]
    ledger = account("c", spans)
    assert owned_ms(ledger) == {"A": 60, "C": 20, "D": 20}
    assert codes(ledger) == ["orphan-adopted"]
    assert [key("A")] == [turn.root.key for turn in ledger.turns]


def test_a_child_that_comes_before_its_root_is_readable_and_yields_to_it() -> None:
    child = span("child", 10, 20, "root", service="b")
    before, after = account("c", [child]), account("c", [child, agent("root", 0, 100, service="a")])
    assert (before.service, before.active_ns, codes(before)) == ("b", 10 * MS, ["parent-missing"])
    assert (after.service, after.start_ns, after.active_ns, codes(after)) == ("a", 0, 100 * MS, [])


def test_spans_in_a_loop_of_parents_change_nothing_for_the_others() -> None:
    sound = [agent("R", 0, 100), tool("X", 20, 50, "R")]
    loop = [span("A", 0, 500, "B"), span("B", 0, 500, "A"), span("below", 600, 700, "A")]
    ledger = account("c", [*sound, *loop])
    assert account("c", sound).segments == ledger.segments
    assert {"A", "B", "below"} == {node.record.name for node in ledger.tree.background}
    assert codes(ledger) == ["parent-cycle"] * 3


def test_one_span_id_in_two_traces_is_two_spans() -> None:
    spans = [
        chat("S1", 0, 50, trace="T1", attributes=usage(10, 5)),
        tool("S1", 60, 100, trace="T2"),
        span("S2", 70, 80, "S1", trace="T2"),
    ]
    ledger = account("c", spans)
    assert ledger.tree.nodes[key("S1", "T2")] is ledger.tree.nodes[key("S2", "T2")].parent
    assert (ledger.tokens.input, ledger.tokens.output) == (10, 5)
    assert stage_ms(ledger) == {Stage.MODEL_CALL: 50, Stage.UNATTRIBUTED: 10, Stage.TOOL_LOCAL: 40}


def test_two_instrumentations_of_one_call_are_one_call() -> None:
    spans = [
        agent("agent", 0, 100),
        chat("ours", 10, 90, "agent", first=30, attributes=usage(10, 5)),
        chat("theirs", 12, 88, "ours", attributes=usage(10, 5)),
    ]
    ledger = account("c", spans)
    assert (ledger.tokens.input, ledger.tokens.output) == (10, 5)
    assert stage_ms(ledger) == {Stage.AGENT_OVERHEAD: 20, Stage.MODEL_FIRST_TOKEN: 30, Stage.MODEL_GENERATE: 50}
    busy = {row.stage: row.busy_ns // MS for row in ledger.stages}
    assert busy[Stage.MODEL_FIRST_TOKEN] + busy[Stage.MODEL_GENERATE] == 80


def test_the_outer_report_of_a_call_learns_the_first_token_from_the_inner_one() -> None:
    spans = [chat("outer", 0, 100), chat("inner", 10, 90, "outer", first=20)]
    assert stage_ms(account("c", spans)) == {Stage.MODEL_FIRST_TOKEN: 30, Stage.MODEL_GENERATE: 70}


def test_a_model_call_inside_a_tool_of_a_call_is_a_call_of_its_own() -> None:
    spans = [
        chat("outer", 0, 100, attributes=usage(10, 5)),
        tool("tool", 10, 90, "outer"),
        chat("inner", 20, 80, "tool", attributes=usage(7, 3)),
    ]
    assert (account("c", spans).tokens.input, account("c", spans).tokens.output) == (17, 8)


def test_a_list_that_hides_in_a_tool_call_is_listing_time() -> None:
    spans = [
        agent("agent", 0, 1000),
        mcp("call", 100, 500, "agent"),
        served("work", 110, 150, "call"),
        mcp("list", 170, 490, "call", method="tools/list"),
        served("listing", 180, 480, "list", method="tools/list"),
    ]
    assert stage_ms(account("c", spans)) == {
        Stage.AGENT_OVERHEAD: 600,
        Stage.MCP_SERVER: 40,
        Stage.MCP_TRANSPORT: 40,
        Stage.MCP_LIST: 320,
    }


def test_all_pages_of_a_list_are_listing_time() -> None:
    pages = [
        mcp(f"page{n}", 10 * n, 10 * n + 8, "agent", method="tools/list", attributes={semconv.MCP_CURSOR: f"p{n}"})
        for n in range(3)
    ]
    ledger = account("c", [agent("agent", 0, 30), *pages])
    assert stage_ms(ledger) == {Stage.AGENT_OVERHEAD: 6, Stage.MCP_LIST: 24}
    assert next(row.spans for row in ledger.stages if row.stage is Stage.MCP_LIST) == 3


def test_a_wrapper_beside_the_model_call_does_not_hide_it() -> None:
    """LangGraph's task and the chain with the call in it are siblings over the same time."""
    spans = [
        agent("graph", 0, 1000),
        span("call_model.task", 100, 900, "graph"),
        span("chain", 100, 900, "graph"),
        chat("chat", 110, 890, "chain", kind=Kind.CLIENT),
    ]
    ledger = account("c", spans)
    assert stage_ms(ledger)[Stage.MODEL_CALL] == 780
    assert codes(ledger) == ["shadowed"]


def test_a_shifted_process_is_told_once() -> None:
    spans = [
        mcp("call", 0, 100, process="a"),
        served("work", 510, 590, "call", process="b"),
        span("query", 520, 580, "work", process="b"),
    ]
    ledger = account("c", spans)
    assert codes(ledger) == ["clock-shifted"]
    assert "by -500000000 ns (between -510000000 and -490000000)" in ledger.problems[0].text
    assert owned_ms(ledger) == {"call": 20, "work": 20, "query": 60}
