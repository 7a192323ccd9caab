"""Names that other instrumentations use for what the conventions call something else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from spanwise import semconv as sc
from spanwise_collector.span import Attributes, Value

OPENINFERENCE_KIND: Final = "openinference.span.kind"
OPENINFERENCE_SCOPE: Final = "openinference"
OPENLLMETRY_MCP_SCOPE: Final = "opentelemetry.instrumentation.mcp"  # its spans tell the method in their name only
SESSION_ID: Final = "session.id"  # a conversation's id on spans of agents, a browser's session elsewhere
TRACELOOP_KIND: Final = "traceloop.span.kind"
TRACELOOP_ENTITY: Final = "traceloop.entity.name"
MODEL_NAME: Final = "llm.model_name"
USAGE: Final = ("llm.token_usage", "langfuse.observation.usage_details")
LANGFUSE_TYPE: Final = "langfuse.observation.type"

# A span with one of these belongs to an agent, so its session is a conversation.
AGENTIC: Final = (
    OPENINFERENCE_KIND,
    sc.GEN_AI_OPERATION_NAME,
    "gen_ai.system",
    sc.GEN_AI_PROVIDER_NAME,
    TRACELOOP_KIND,
    LANGFUSE_TYPE,
    "langfuse.trace.name",
    "langsmith.span.kind",
    "ai.operationId",
    "ioa_observe.workflow.name",
)

# Canonical name: the other names, the most trustworthy first.
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    # Whatever names the conversation itself goes before threads, and these before sessions.
    sc.GEN_AI_CONVERSATION_ID: (
        "conversation.id",
        "traceloop.association.properties.conversation_id",
        "traceloop.association.properties.chat_id",
        "traceloop.association.properties.thread_id",
        "langsmith.metadata.thread_id",
        "langgraph.thread_id",
        "metadata.thread_id",
        "thread_id",
        "traceloop.association.properties.session_id",
        "langfuse.session.id",
        "langsmith.trace.session_id",
        "gcp.vertex.agent.session_id",
        "ai.telemetry.metadata.sessionId",
    ),
    sc.GEN_AI_PROVIDER_NAME: ("gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"),
    sc.GEN_AI_REQUEST_MODEL: (
        MODEL_NAME,
        "embedding.model_name",
        "llm.request.model",
        "langfuse.observation.model.name",
        "langsmith.metadata.ls_model_name",
        "ai.model.id",
    ),
    sc.GEN_AI_RESPONSE_MODEL: ("llm.response.model", "ai.response.model"),
    sc.GEN_AI_RESPONSE_ID: ("ai.response.id",),
    sc.GEN_AI_REQUEST_STREAM: ("gen_ai.request.is_stream", "gen_ai.is_streaming", "llm.is_streaming"),
    sc.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: ("gen_ai.server.time_to_first_token",),
    sc.GEN_AI_USAGE_INPUT_TOKENS: (
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
        "llm.usage.prompt_tokens",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
    ),
    sc.GEN_AI_USAGE_OUTPUT_TOKENS: (
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
        "llm.usage.completion_tokens",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
    ),
    sc.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: (
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "llm.token_count.prompt_details.cache_read",
        "ai.usage.cachedInputTokens",
    ),
    sc.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: (
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "llm.token_count.prompt_details.cache_write",
    ),
    sc.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: (
        "gen_ai.usage.reasoning_tokens",
        "llm.usage.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
        "ai.usage.reasoningTokens",
    ),
    sc.GEN_AI_TOOL_NAME: ("tool.name", "ai.toolCall.name", "mcp.tool.name"),
    sc.GEN_AI_TOOL_CALL_ID: ("tool_call.id", "ai.toolCall.id", "tool.id"),
    sc.GEN_AI_AGENT_NAME: ("agent.name", "agent_name"),
    sc.OPENAI_REQUEST_SERVICE_TIER: ("gen_ai.openai.request.service_tier",),
    sc.OPENAI_RESPONSE_SERVICE_TIER: ("gen_ai.openai.response.service_tier",),
    sc.OPENAI_RESPONSE_SYSTEM_FINGERPRINT: ("gen_ai.openai.response.system_fingerprint",),
    sc.HTTP_REQUEST_METHOD: ("http.method",),
    sc.HTTP_RESPONSE_STATUS_CODE: ("http.status_code",),
    sc.URL_FULL: ("http.url",),
    sc.SERVER_ADDRESS: ("net.peer.name", "http.host"),
    sc.SERVER_PORT: ("net.peer.port",),
    sc.DB_SYSTEM_NAME: ("db.system",),
    sc.DB_QUERY_TEXT: ("db.statement",),
    sc.RPC_SYSTEM_NAME: ("rpc.system",),
}

# As above, for values in another unit: how much of the canonical one it is.
SCALED: Final[Mapping[str, tuple[str, float]]] = {
    sc.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: ("ai.response.msToFirstChunk", 1e-3),
}

# Attribute that names the kind of a span: what its values mean as an operation. The first that says something wins.
OPERATIONS: Final[Mapping[str, Mapping[str, str]]] = {
    sc.MCP_METHOD_NAME: {"tools/call": sc.OPERATION_EXECUTE_TOOL},
    OPENINFERENCE_KIND: {
        "LLM": sc.OPERATION_CHAT,
        "EMBEDDING": sc.OPERATION_EMBEDDINGS,
        "TOOL": sc.OPERATION_EXECUTE_TOOL,
        "AGENT": sc.OPERATION_INVOKE_AGENT,
        "RETRIEVER": "retrieval",
        "RERANKER": "retrieval",
    },
    TRACELOOP_KIND: {
        "workflow": "invoke_workflow",
        "agent": sc.OPERATION_INVOKE_AGENT,
        "tool": sc.OPERATION_EXECUTE_TOOL,
    },
    LANGFUSE_TYPE: {
        "generation": sc.OPERATION_CHAT,
        "embedding": sc.OPERATION_EMBEDDINGS,
        "tool": sc.OPERATION_EXECUTE_TOOL,
        "agent": sc.OPERATION_INVOKE_AGENT,
        "retriever": "retrieval",
    },
    "langsmith.span.kind": {
        "llm": sc.OPERATION_CHAT,
        "embedding": sc.OPERATION_EMBEDDINGS,
        "tool": sc.OPERATION_EXECUTE_TOOL,
        "retriever": "retrieval",
    },
    # The outer span of each, which holds all rounds and repeats their totals, is the agent.
    "ai.operationId": {
        **{f"ai.{name}": sc.OPERATION_INVOKE_AGENT for name in ("generateText", "streamText")},
        **{f"ai.{name}": sc.OPERATION_INVOKE_AGENT for name in ("generateObject", "streamObject")},
        **{f"ai.{name}.doGenerate": sc.OPERATION_CHAT for name in ("generateText", "generateObject")},
        **{f"ai.{name}.doStream": sc.OPERATION_CHAT for name in ("streamText", "streamObject")},
        **{f"ai.{name}.doEmbed": sc.OPERATION_EMBEDDINGS for name in ("embed", "embedMany")},
        "ai.toolCall": sc.OPERATION_EXECUTE_TOOL,
    },
    "ioa_observe.span.kind": {
        "graph": "invoke_workflow",
        "agent": sc.OPERATION_INVOKE_AGENT,
        "tool": sc.OPERATION_EXECUTE_TOOL,
    },
    "llm.request.type": {
        "chat": sc.OPERATION_CHAT,
        "completion": "text_completion",
        "embedding": sc.OPERATION_EMBEDDINGS,
        "rerank": "retrieval",
    },
}

# The native spans of the MCP SDK carry the tool only in their name, the client's behind a prefix.
TOOL_CALL: Final = "tools/call"
TOOL_IN_NAME: Final = r"^(?:MCP send )?tools/call (?P<found>.+)$"
METHOD_IN_NAME: Final = r"^(?P<found>[a-z_]+(?:/[a-z_]+)*)\.mcp$"
CALL_IN_NAME: Final = r"^(?P<found>.+)\.tool$"
STEP_IN_NAME: Final = r"^agent\.step\.(?P<found>.+)$"

_TARGETS: Final = {source: target for target, sources in ALIASES.items() for source in sources}
_USAGE: Final = {
    sc.GEN_AI_USAGE_INPUT_TOKENS: ("input_tokens", "prompt_tokens", "input", "prompt"),
    sc.GEN_AI_USAGE_OUTPUT_TOKENS: ("output_tokens", "completion_tokens", "output", "completion"),
}


def canonical(attributes: Attributes, name: str, scope: str = "") -> dict[str, Value]:
    """The attributes with the conventions' names added beside the raw ones.

    What is there under its right name is never changed unless it is empty.
    """
    found = dict(attributes)
    stated = {key: value for key, value in attributes.items() if not _empty(value)}
    for target in {_TARGETS[key] for key in stated if key in _TARGETS}:
        _add(found, target, next(stated[key] for key in ALIASES[target] if key in stated))
    for target, (source, unit) in SCALED.items():
        _add(found, target, _scaled(stated.get(source), unit))
    if is_agentic(stated, scope):
        _add(found, sc.GEN_AI_CONVERSATION_ID, stated.get(SESSION_ID))
    if scope.startswith(OPENLLMETRY_MCP_SCOPE):
        _add(found, sc.MCP_METHOD_NAME, _method(name))
        _add(found, sc.GEN_AI_TOOL_NAME, _in_name(CALL_IN_NAME, name))
    _add(found, sc.GEN_AI_OPERATION_NAME, _operation(found, stated))
    _add(found, sc.GEN_AI_TOOL_NAME, _tool(stated, name))
    _add(found, sc.STEP_NAME, _in_name(STEP_IN_NAME, name))
    for target, names in _USAGE.items():
        for source in USAGE:
            _add(found, target, _used(stated.get(source), names))
    return found


def is_agentic(attributes: Attributes, scope: str) -> bool:
    """Whether an instrumentation of agents made this span."""
    return scope.startswith(OPENINFERENCE_SCOPE) or any(key in attributes for key in AGENTIC)


def _add(found: dict[str, Value], target: str, value: Value) -> None:
    if value is not None and _empty(found.get(target)):
        found[target] = value


def _empty(value: Value) -> bool:
    return value is None or value == ""


def _operation(found: Attributes, stated: Attributes) -> str | None:
    for key, meanings in OPERATIONS.items():
        value = found.get(key) if key == sc.MCP_METHOD_NAME else stated.get(key)
        if isinstance(value, str) and value in meanings:
            return meanings[value]
    if MODEL_NAME in stated and OPENINFERENCE_KIND not in stated:
        return sc.OPERATION_CHAT
    return sc.OPERATION_EXECUTE_TOOL if sc.GEN_AI_TOOL_CALL_ID in stated and sc.GEN_AI_TOOL_NAME in stated else None


def _tool(attributes: Attributes, name: str) -> Value:
    if attributes.get(sc.MCP_METHOD_NAME) == TOOL_CALL:
        return _in_name(TOOL_IN_NAME, name)
    if attributes.get(LANGFUSE_TYPE) == "tool":
        return name
    return attributes.get(TRACELOOP_ENTITY) if attributes.get(TRACELOOP_KIND) == "tool" else None


def _method(name: str) -> str | None:
    return TOOL_CALL if re.match(CALL_IN_NAME, name) else _in_name(METHOD_IN_NAME, name)


def _scaled(value: Value, unit: float) -> float | None:
    return value * unit if isinstance(value, int | float) and not isinstance(value, bool) else None


def _in_name(pattern: str, name: str) -> str | None:
    match = re.match(pattern, name)
    return match["found"] if match else None


def _used(usage: Value, names: tuple[str, ...]) -> int | None:
    """A count out of a token usage that was sent as one map, or as the JSON text of one."""
    if isinstance(usage, str):
        usage = _parsed(usage)
    if not isinstance(usage, Mapping):
        return None
    counts = (usage.get(name) for name in names)
    return next((count for count in counts if isinstance(count, int) and not isinstance(count, bool)), None)


def _parsed(text: str) -> Value:
    try:
        value: Value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
