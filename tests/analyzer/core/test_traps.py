"""Ways in which other critical-path tools go wrong, each with the right figures."""

from __future__ import annotations

from itertools import permutations

import pytest
from tests.analyzer.core.scene import MS, agent, chat, codes, http, key, mcp, owned_ms, served, span, stage_ms, tool

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.account import account
from spanwise_collector.span import Kind, Span


def loop(clock_ms: float) -> list[Span]:
    """A hundred rounds of model and tool, 0.13 ms of the agent's own after each, timed in steps of ``clock_ms``."""
    now, spans = 0.0, []

    def ticked(moment: float) -> float:
        return moment // clock_ms * clock_ms

    for number in range(100):
        for make, length in ((chat, 86.51), (tool, 13.2)):
            spans.append(make(f"{make.__name__}{number}", ticked(now), ticked(now + length), "agent"))
            now += length + 0.13
    return [agent("agent", 0, ticked(now)), *spans]


def test_back_to_back_siblings_do_not_fall_into_their_parent() -> None:
    """With a clock of 1 ms one span often starts when the other ends; a walk by strict `<` gives that to the agent."""
    exact, coarse = (account("c", loop(clock)) for clock in (0.001, 1))
    own = [100 * ledger.share(ledger.stage_ns(Stage.AGENT_OVERHEAD)) for ledger in (exact, coarse)]
    model = [100 * ledger.share(ledger.stage_ns(Stage.MODEL_CALL)) for ledger in (exact, coarse)]
    assert (round(own[0], 2), round(model[0], 1)) == (0.26, 86.5)
    assert own[0] == pytest.approx(own[1], abs=0.05)
    assert model[0] == pytest.approx(model[1], abs=0.05)


def test_a_child_that_overlaps_the_next_critical_one_is_not_dropped() -> None:
    """Three tools sent off 60 ms apart: the agent owns only what it is alone with."""
    spans = [
        agent("agent", 0, 1000),
        chat("ask", 1, 500, "agent"),
        *(tool(f"tool{n}", 502 + 60 * n, 802 + 60 * n, "agent") for n in range(3)),
        chat("answer", 924, 999, "agent"),
    ]
    assert owned_ms(account("c", spans)) == {
        "agent": 1 + 2 + 2 + 1,
        "ask": 499,
        "tool0": 120,
        "tool2": 300,
        "answer": 75,
    }


def test_what_runs_past_its_parent_is_not_clipped_in_any_order() -> None:
    spans = [span("root", 0, 100), span("child", 20, 150, "root"), span("grandchild", 120, 140, "child")]
    for order in permutations(spans):
        assert owned_ms(account("c", order)) == {"root": 20, "child": 110, "grandchild": 20}


def test_children_outside_their_parent_keep_their_time_and_their_subtree() -> None:
    """Late streaming work goes up to the ancestor that it touches."""
    spans = [
        agent("agent", 0, 1000),
        tool("tool", 100, 200, "agent"),
        span("late", 300, 700, "tool"),
        span("below", 400, 600, "late"),
    ]
    ledger = account("c", spans)
    assert owned_ms(ledger) == {"agent": 500, "tool": 100, "late": 200, "below": 200}
    assert codes(ledger) == ["outside-parent"]
    assert ledger.tree.nodes[key("late")].parent is ledger.tree.nodes[key("agent")]


def test_a_conversation_without_sound_spans_is_empty_with_problems_and_never_silent() -> None:
    ledger = account("c", [span("a", 0, 10, "b"), span("b", 0, 10, "a")])
    assert (ledger.active_ns, list(ledger.stages), ledger.dominant) == (0, [], None)
    assert codes(ledger) == ["parent-cycle", "parent-cycle"]


def test_parallel_children_longer_than_their_parent_in_sum_still_add_up() -> None:
    spans = [span("root", 0, 100), *(span(f"child{n}", 10, 80, "root") for n in range(3))]
    ledger = account("c", spans)
    assert sum(row.ns for row in ledger.stages) == 100 * MS
    assert (ledger.stages[0].ns, ledger.stages[0].busy_ns) == (100 * MS, 240 * MS)


def test_a_neighbour_on_the_path_is_no_parent() -> None:
    """The query follows the model call in time, but belongs to the tool."""
    spans = [
        agent("agent", 0, 100),
        chat("chat", 0, 50, "agent"),
        tool("tool", 50, 100, "agent"),
        http("query", 50, 90, "tool"),
    ]
    assert stage_ms(account("c", spans)) == {Stage.MODEL_CALL: 50, Stage.TOOL_DOWNSTREAM: 40, Stage.TOOL_LOCAL: 10}


def test_every_root_counts_and_a_missing_one_is_no_error() -> None:
    spans = [
        agent("first", 0, 100),
        agent("second", 50, 150, trace="u"),
        chat("orphan", 200, 260, "never-sent", trace="v"),
    ]
    ledger = account("c", spans)
    assert owned_ms(ledger) == {"first": 50, "second": 100, "orphan": 60}
    assert codes(ledger) == ["parent-missing"]


def hostile() -> list[Span]:
    """Streamable HTTP as the conventions' own example traces it, with a listening stream below initialize."""
    return [
        agent("turn", 0, 2210),
        mcp("initialize", 0, 100, "turn", method="initialize"),
        http("post", 5, 95, "initialize"),
        http("listen", 90, 60_000, "initialize", verb="GET"),
        chat("ask", 110, 910, "turn"),
        mcp("call", 920, 1420, "turn"),
        http("request", 925, 1415, "call"),
        http("handle", 930, 1410, "request", kind=Kind.SERVER),
        served("work", 940, 1400, "call", links=["handle"]),
        chat("answer", 1430, 2210, "turn"),
    ]


def test_a_listening_stream_and_sibling_transport_do_not_hide_model_and_server() -> None:
    ledger = account("c", hostile())
    assert ledger.active_ns == 2210 * MS
    owned = owned_ms(ledger)
    assert {name: owned[name] for name in ("ask", "answer")} == {"ask": 800, "answer": 780}
    assert (owned["work"], owned["request"] + owned["handle"]) == (460, 30)
    assert [node.record.name for node in ledger.tree.background] == ["listen"]
    assert stage_ms(ledger) == {
        Stage.MODEL_CALL: 1580,
        Stage.MCP_SERVER: 460,
        Stage.MCP_TRANSPORT: 40,
        Stage.MCP_HANDSHAKE: 100,
        Stage.AGENT_OVERHEAD: 30,
    }


def test_a_server_part_without_a_link_goes_below_the_innermost_request_around_it() -> None:
    without = [found if found.name != "work" else served("work", 940, 1400, "call") for found in hostile()]
    assert stage_ms(account("c", hostile())) == stage_ms(account("c", without))
    assert account("c", without).tree.nodes[key("work")].parent.record.name == "handle"  # type: ignore[union-attr]


def test_one_server_has_one_clock() -> None:
    """Each call alone would give another offset; together they allow one, and the spans keep their distance."""
    spans = [agent("agent", 0, 1000, process="a")]
    for number, (before, after) in enumerate(((10, 30), (25, 5), (40, 40))):
        start = 300 * number
        end = start + before + 100 + after
        spans += [
            mcp(f"call{number}", start, end, "agent", process="a"),
            served(f"work{number}", start + before + 5000, end - after + 5000, f"call{number}", process="b"),
        ]
    nodes = account("c", spans).tree.nodes
    moved = {nodes[key(f"work{n}")].start_ns - nodes[key(f"work{n}")].record.start_ns for n in range(3)}
    # The bounds are -5010 from call 1's start and -4995 from its neighbour's end.
    assert {(-5010 - 4995) * MS // 2} == moved


def test_an_id_on_one_span_reaches_what_is_below_it_and_in_its_trace() -> None:
    without = {semconv.GEN_AI_CONVERSATION_ID: None}
    spans = [
        http("request", 0, 100, kind=Kind.SERVER, attributes=without),
        agent("agent", 10, 90, "request"),
        chat("chat", 20, 80, "agent", attributes=without),
    ]
    ledger = account("c", spans)
    assert owned_ms(ledger) == {"request": 20, "agent": 20, "chat": 60}
