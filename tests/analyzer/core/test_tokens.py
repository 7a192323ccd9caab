"""What a conversation's model calls took in and gave out, and where it came from."""

from __future__ import annotations

import pytest
from tests.analyzer.core.scene import agent, chat, mcp, span

from spanwise import semconv
from spanwise_analyzer.account import account
from spanwise_analyzer.ledger import TokenBill
from spanwise_collector.span import Span, Value

Said = dict[str, Value]


def used(name: str, start: float, said: Said | None = None, *, under: str = "agent") -> Span:
    return chat(name, start, start + 10, under, attributes=said)


def usage(tokens_in: int, tokens_out: int | None = None, cached: int | None = None) -> Said:
    return {
        semconv.GEN_AI_USAGE_INPUT_TOKENS: tokens_in,
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: tokens_out,
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: cached,
    }


def bill(*spans: Span) -> TokenBill:
    return account("c", [agent("agent", 0, 1000), *spans]).tokens


def sources(found: TokenBill) -> list[tuple[str, str | None, int]]:
    return [(row.source, row.server, row.tokens) for row in found.by_source]


def test_what_no_call_reports_is_unknown_and_never_zero() -> None:
    assert bill(used("a", 0)) == TokenBill(None, None, None, [])


def test_calls_are_summed_background_ones_too() -> None:
    found = bill(
        used("a", 0, usage(10, 5)),
        used("b", 20, usage(7, None, 3)),
        used("c", 40, {**usage(1, 1), semconv.ASYNC: True}),
    )
    assert (found.input, found.cached, found.output) == (18, 3, 6)


def test_the_outermost_report_with_usage_counts() -> None:
    outer = used("outer", 0)
    found = bill(outer, used("middle", 2, usage(10, 5), under="outer"), used("inner", 4, usage(10, 5), under="middle"))
    assert (found.input, found.output) == (10, 5)


def test_a_wrapper_without_usage_counts_through_each_call_below_it() -> None:
    found = bill(
        used("outer", 0), used("one", 2, usage(10, 5), under="outer"), used("two", 20, usage(3, 1), under="outer")
    )
    assert (found.input, found.output) == (13, 6)


def test_one_response_is_one_call_wherever_it_is_reported() -> None:
    said: Said = {**usage(10, 5), semconv.GEN_AI_RESPONSE_ID: "r"}
    assert bill(used("one", 0, said), used("two", 1, said)).input == 10


def test_responses_that_follow_each_other_are_calls_of_their_own_even_if_all_have_one_id() -> None:
    said: Said = {**usage(10, 5), semconv.GEN_AI_RESPONSE_ID: "x"}
    found = bill(*(used(f"call {at}", at * 10, said) for at in range(6)))
    assert (found.input, found.output) == (60, 30)


def test_a_report_below_another_is_the_same_call_even_after_its_end() -> None:
    said: Said = {**usage(10, 5), semconv.GEN_AI_RESPONSE_ID: "x"}
    assert bill(used("request", 0, said), used("stream", 20, said, under="request")).input == 10
    assert bill(used("request", 0, said), used("stream", 20, said)).input == 20


def test_blocks_are_scaled_to_the_measured_input_to_the_last_token() -> None:
    blocks = [
        "tools:h:400",
        "instructions:h:100",
        "user:h:50",
        "assistant:h:30",
        "tool:h:20",
        "user:h:10",
        "odd",
        "x:y:z",
    ]
    found = bill(used("a", 0, {**usage(1000), semconv.PROMPT_BLOCKS: blocks}))
    assert sources(found) == [
        ("tool_definitions", None, 656),
        ("instructions", None, 164),
        ("history", None, 131),
        ("tool_results", None, 33),
        ("user", None, 16),
    ]
    assert sum(row.tokens for row in found.by_source) == 1000
    assert {row.basis for row in found.by_source} == {"estimated"}


def test_without_a_measured_input_the_estimate_stands() -> None:
    found = bill(used("a", 0, {semconv.PROMPT_BLOCKS: ["instructions:h:100", "user:h:50"]}))
    assert (found.input, sources(found)) == (None, [("instructions", None, 100), ("user", None, 50)])


def test_tool_definitions_go_to_the_servers_that_listed_them_by_size() -> None:
    def listed(server: str, *tools: str) -> Span:
        said: Said = {semconv.MCP_SERVER_NAME: server, semconv.TOOLS_NAMES: list(tools)}
        return mcp(f"list {server}", 0, 5, "agent", method="tools/list", attributes=said)

    request: Said = {
        semconv.PROMPT_BLOCKS: ["tools:h:100"],
        semconv.TOOLS_NAMES: ["find", "cancel", "track", "both", "local"],
        semconv.TOOLS_SIZES: [300, 100, 400, 100, 100],
    }
    found = bill(
        listed("orders", "find", "cancel", "both"),
        listed("logistics", "track", "both"),
        used("a", 10, {**usage(1000), **request}),
    )
    assert sources(found) == [
        ("tool_definitions", "logistics", 400),
        ("tool_definitions", "orders", 400),
        ("tool_definitions", None, 200),
    ]


@pytest.mark.parametrize("count", ["many", -5, float("nan")])
def test_odd_counts_are_ignored(count: Value) -> None:
    said: Said = {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.GEN_AI_USAGE_INPUT_TOKENS: count}
    assert bill(span("odd", 0, 10, "agent", said)).input is None
