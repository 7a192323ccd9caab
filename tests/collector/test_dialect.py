from __future__ import annotations

import pytest

from spanwise import semconv as sc
from spanwise_collector.dialect import canonical


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"gen_ai.system": "openai"}, {sc.GEN_AI_PROVIDER_NAME: "openai"}),
        (
            {"http.method": "GET", "http.status_code": 429},
            {sc.HTTP_REQUEST_METHOD: "GET", sc.HTTP_RESPONSE_STATUS_CODE: 429},
        ),
        ({"gen_ai.usage.cache_creation.input_tokens": 5}, {sc.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: 5}),
        ({"gen_ai.openai.response.service_tier": "flex"}, {sc.OPENAI_RESPONSE_SERVICE_TIER: "flex"}),
        (
            {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 7},
            {sc.GEN_AI_OPERATION_NAME: "chat", sc.GEN_AI_REQUEST_MODEL: "m", sc.GEN_AI_USAGE_INPUT_TOKENS: 7},
        ),
        (
            {"llm.model_name": "m", "llm.token_usage": '{"prompt_tokens": 3, "completion_tokens": 4}'},
            {
                sc.GEN_AI_OPERATION_NAME: "chat",
                sc.GEN_AI_REQUEST_MODEL: "m",
                sc.GEN_AI_USAGE_INPUT_TOKENS: 3,
                sc.GEN_AI_USAGE_OUTPUT_TOKENS: 4,
            },
        ),
        (
            {"traceloop.span.kind": "tool", "traceloop.entity.name": "search"},
            {sc.GEN_AI_OPERATION_NAME: "execute_tool", sc.GEN_AI_TOOL_NAME: "search"},
        ),
    ],
)
def test_other_names_are_added_beside_the_raw_ones(raw: dict[str, object], expected: dict[str, object]) -> None:
    found = canonical(raw, "span")  # type: ignore[arg-type]
    assert {**raw, **expected} == found


def test_the_right_name_wins_over_others() -> None:
    raw = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.prompt_tokens": 99}
    assert canonical(raw, "chat m")[sc.GEN_AI_USAGE_INPUT_TOKENS] == 10


@pytest.mark.parametrize("name", ["MCP send tools/call get_order", "tools/call get_order"])
def test_the_tool_of_a_native_mcp_span_is_in_its_name(name: str) -> None:
    found = canonical({"mcp.method.name": "tools/call"}, name)
    assert (found[sc.GEN_AI_TOOL_NAME], found[sc.GEN_AI_OPERATION_NAME]) == ("get_order", "execute_tool")


def test_a_step_is_known_by_its_name() -> None:
    assert canonical({}, "agent.step.lookup")[sc.STEP_NAME] == "lookup"
