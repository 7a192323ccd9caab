"""What the spans of other instrumentations mean, as they send them."""

from __future__ import annotations

from typing import Any

import pytest

from spanwise import semconv as sc
from spanwise_collector.dialect import canonical

_CONVERSATION = sc.GEN_AI_CONVERSATION_ID
_OPERATION = sc.GEN_AI_OPERATION_NAME
_INPUT = sc.GEN_AI_USAGE_INPUT_TOKENS
_MCP = "opentelemetry.instrumentation.mcp.instrumentation"

SPANS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "Langfuse generation": (
        "ask",
        "langfuse-sdk",
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.model.name": "m-1",
            "langfuse.observation.usage_details": '{"prompt_tokens": 404, "completion_tokens": 9}',
            "session.id": "s-1",
        },
        {_OPERATION: "chat", sc.GEN_AI_REQUEST_MODEL: "m-1", _INPUT: 404, _CONVERSATION: "s-1"},
    ),
    "Langfuse tool": (
        "get_order",
        "langfuse-sdk",
        {"langfuse.observation.type": "tool"},
        {_OPERATION: "execute_tool", sc.GEN_AI_TOOL_NAME: "get_order"},
    ),
    "Vercel AI SDK, a call": (
        "ai.streamText.doStream",
        "ai",
        {
            "ai.operationId": "ai.streamText.doStream",
            "ai.model.id": "m-1",
            "ai.response.msToFirstChunk": 426.9,
            "ai.usage.promptTokens": 14,
            "ai.usage.inputTokens": 15,
        },
        {
            _OPERATION: "chat",
            sc.GEN_AI_REQUEST_MODEL: "m-1",
            sc.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: pytest.approx(0.4269),
            _INPUT: 15,
        },
    ),
    "Vercel AI SDK, around its calls": (
        "ai.streamText",
        "ai",
        {"ai.operationId": "ai.streamText", "ai.usage.promptTokens": 14},
        {_OPERATION: "invoke_agent"},
    ),
    "Vercel AI SDK, a tool": (
        "ai.toolCall",
        "ai",
        {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "get", "ai.toolCall.id": "1"},
        {_OPERATION: "execute_tool", sc.GEN_AI_TOOL_NAME: "get", sc.GEN_AI_TOOL_CALL_ID: "1"},
    ),
    "OpenLLMetry, a session": (
        "openai.chat",
        "opentelemetry.instrumentation.openai.v1",
        {"traceloop.association.properties.session_id": "s", "traceloop.association.properties.thread_id": "t"},
        {_CONVERSATION: "t"},
    ),
    "OpenLLMetry, handshake": ("initialize.mcp", _MCP, {}, {sc.MCP_METHOD_NAME: "initialize"}),
    "OpenLLMetry, a list": ("tools/list.mcp", _MCP, {}, {sc.MCP_METHOD_NAME: "tools/list"}),
    "OpenLLMetry, a call": (
        "get_order.tool",
        _MCP,
        {"traceloop.span.kind": "tool", "traceloop.entity.name": "get_order"},
        {sc.MCP_METHOD_NAME: "tools/call", sc.GEN_AI_TOOL_NAME: "get_order", _OPERATION: "execute_tool"},
    ),
    "a name like those of another scope": ("get_order.tool", "shop", {}, {sc.MCP_METHOD_NAME: None}),
    "LangSmith": (
        "turn",
        "langsmith",
        {"langsmith.span.kind": "llm", "langsmith.metadata.ls_model_name": "m-1", "langsmith.metadata.thread_id": "t"},
        {_OPERATION: "chat", sc.GEN_AI_REQUEST_MODEL: "m-1", _CONVERSATION: "t"},
    ),
    "Google ADK": (
        "invocation",
        "gcp.vertex.agent",
        {"gcp.vertex.agent.session_id": "s-1"},
        {_CONVERSATION: "s-1"},
    ),
    "Koog, a tool": (
        "tool.Bye",
        "ai.koog",
        {"gen_ai.tool.name": "Bye", "gen_ai.tool.call.id": "1"},
        {_OPERATION: "execute_tool"},
    ),
    "Pydantic AI, totals of a root": (
        "invoke_agent agent",
        "pydantic-ai",
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.aggregated_usage.input_tokens": 1251},
        {_INPUT: None, _OPERATION: "invoke_agent"},
    ),
    "ioa_observe": (
        "graph",
        "ioa_observe.sdk",
        {"ioa_observe.span.kind": "graph", "ioa_observe.workflow.name": "w", "session.id": "s"},
        {_OPERATION: "invoke_workflow", _CONVERSATION: "s"},
    ),
    "a browser's session": ("click", "web", {"session.id": "s", "http.method": "GET"}, {_CONVERSATION: None}),
    "the article's model call": (
        "llm",
        "agent",
        {"llm.model_name": "m-1", "conversation.id": "c", "llm.token_usage": '{"input": 7, "output": 1}'},
        {_OPERATION: "chat", _CONVERSATION: "c", _INPUT: 7},
    ),
}


@pytest.mark.parametrize("case", SPANS)
def test_it_is_read_under_the_conventions_names(case: str) -> None:
    name, scope, attributes, expected = SPANS[case]
    found = canonical(attributes, name, scope)
    assert expected == {key: found.get(key) for key in expected}
    assert attributes == {key: found[key] for key in attributes}
