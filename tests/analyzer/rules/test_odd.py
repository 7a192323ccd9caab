"""Whatever the spans look like, advice is given, sound, and the same each time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analyzer.core.forests import odd

from spanwise import semconv
from spanwise_analyzer.account import account
from spanwise_analyzer.rules.finding import SavingKind
from spanwise_analyzer.rules.guide import rank, recommend
from spanwise_collector.span import Span, Value

STRETCH = 50_000_000
TEXT = st.sampled_from(
    ["", "a", "b", "priority", "auto", "high", "application/pdf", "tools/list", "initialize", "server/discover"]
)
LIST = st.lists(
    st.sampled_from(["a", "b", "image", "length", "instructions:a:2000", "user:b:9", "user:b:x", "::"]), max_size=3
)
ODD = st.one_of(st.none(), st.booleans(), st.integers(-5, 50_000), st.just(float("nan")), TEXT, LIST)
NAMES = sorted(
    value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str) and "." in value
)


CAUSES: tuple[Mapping[str, Value], ...] = (
    {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.TOOL_CALLS_IN_RESPONSE: 2, semconv.REQUEST_LEAVES: ["u"]},
    {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.IMAGE_COUNT: 1, semconv.IMAGE_DETAIL: "high"},
    {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.FILE_MIME: ["application/pdf"], semconv.STEP_TEXT_ONLY: True},
    {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.GEN_AI_RESPONSE_FINISH_REASONS: ["length"]},
    {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.CONNECTION_NEW: True, semconv.CONNECTION_CONNECT_TIME: 0.1},
    {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.TOOLS_COUNT: 40, semconv.TOOLS_TOKENS: 9000},
    {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.PROMPT_BLOCKS: ["tools:a:2000"], semconv.RESPONSE_BLOCK_HASH: "x"},
    {
        semconv.GEN_AI_OPERATION_NAME: "chat",
        semconv.OPENAI_REQUEST_SERVICE_TIER: "priority",
        semconv.OPENAI_RESPONSE_SERVICE_TIER: "default",
    },
    {semconv.GEN_AI_OPERATION_NAME: "execute_tool", semconv.GEN_AI_TOOL_NAME: "f", semconv.TOOL_RESULT_BYTES: 90_000},
    {semconv.GEN_AI_OPERATION_NAME: "execute_tool", semconv.GEN_AI_TOOL_NAME: "f", semconv.TOOL_ARGS_HASH: "h"},
    {semconv.MCP_METHOD_NAME: "tools/list", semconv.MCP_CONNECTION_ID: "c", semconv.TOOLS_NAMES_HASH: "n"},
    {semconv.MCP_METHOD_NAME: "initialize", semconv.MCP_SERVER_NAME: "s", semconv.MCP_CONNECTION_ID: "c"},
    {semconv.MCP_METHOD_NAME: "initialize", semconv.MCP_SERVER_NAME: "s", semconv.MCP_CONNECTION_ID: "d"},
    {semconv.MCP_METHOD_NAME: "server/discover", semconv.MCP_CONNECTION_ID: "c", semconv.ERROR_TYPE: "-32601"},
    {semconv.OUTPUT_CONSUMED_TOKENS: 3},
)
COMMON: Mapping[str, Value] = {
    semconv.HASH_KEY_ID: "k",
    semconv.SERVER_ADDRESS: "h",
    semconv.GEN_AI_USAGE_INPUT_TOKENS: 3000,
    semconv.GEN_AI_USAGE_OUTPUT_TOKENS: 200,
    semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 0,
    semconv.TOOL_READ_ONLY: True,
    semconv.TOOL_RESULT_HASH: "r",
    semconv.TOOL_ARGS_LEAVES: ["u"],
    semconv.TOOL_RESULT_LEAVES: ["v"],
}


@st.composite
def annotated(draw: st.DrawFn) -> list[Span]:
    """Odd spans, some seconds long, with the causes of the rules and with attributes of any type."""
    return [_annotated(draw, span) for span in draw(odd())]


def _annotated(draw: st.DrawFn, span: Span) -> Span:
    odd_ones: Mapping[str, Value] = draw(st.dictionaries(st.sampled_from(NAMES), ODD, max_size=3))
    more = {**draw(st.sampled_from(({}, *CAUSES))), **odd_ones}
    start, end = span.start_ns * STRETCH, span.end_ns * STRETCH
    return replace(span, start_ns=start, end_ns=end, attributes={**COMMON, **span.attributes, **more})


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(annotated())
def test_advice_on_odd_spans_is_sound(spans: list[Span]) -> None:
    ledger = account("c", spans)
    advice = recommend(ledger)
    assert advice == recommend(account("c", spans[::-1]))
    assert sorted(advice.findings, key=rank) == list(advice.findings)
    for finding in advice.findings:
        assert (finding.saving is None) == (finding.kind is SavingKind.NONE)
        assert finding.evidence
        assert all(each.span in ledger.tree.nodes or each.span == ("", "") for each in finding.evidence)
        assert all(each.ns >= 0 for each in finding.evidence)
        if finding.saving is not None:
            assert (
                0 <= finding.saving.low_ns <= finding.saving.expected_ns <= finding.saving.high_ns <= ledger.active_ns
            )
