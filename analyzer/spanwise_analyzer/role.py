"""What a span is, read from its attributes, its name and its kind."""

from __future__ import annotations

from enum import StrEnum, auto

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_collector.span import Kind, Span


class Role(StrEnum):
    """The part a span plays in an agent's run."""

    AGENT = auto()  # agent or workflow
    STEP = auto()
    INFERENCE = auto()
    EMBEDDING = auto()
    RETRIEVAL = auto()
    ATTEMPT = auto()  # one try of a model call
    TOOL = auto()
    MCP_CONNECT = auto()
    MCP_CLOSE = auto()
    MCP_CLIENT = auto()
    MCP_SERVER = auto()
    HTTP_CLIENT = auto()
    HTTP_SERVER = auto()
    RPC = auto()
    DATABASE = auto()
    UNKNOWN = auto()


_OPERATIONS = {
    semconv.OPERATION_EMBEDDINGS: Role.EMBEDDING,
    semconv.OPERATION_EXECUTE_TOOL: Role.TOOL,
    **dict.fromkeys(semconv.INFERENCE_OPERATIONS, Role.INFERENCE),
    **dict.fromkeys(semconv.RETRIEVAL_OPERATIONS, Role.RETRIEVAL),
    **dict.fromkeys(semconv.AGENT_OPERATIONS, Role.AGENT),
}
_CONNECTION = {Stage.MCP_CONNECT.value: Role.MCP_CONNECT, Stage.MCP_CLOSE.value: Role.MCP_CLOSE}


def role(span: Span) -> Role:
    """The role of a span; UNKNOWN if nothing tells.

    MCP goes before the GenAI operation, because an MCP request that calls a tool also says ``execute_tool``.
    """
    if span.text(semconv.MCP_METHOD_NAME):
        return Role.MCP_SERVER if span.kind is Kind.SERVER else Role.MCP_CLIENT
    if span.integer(semconv.RETRY_ATTEMPT) is not None:
        return Role.ATTEMPT
    operation = _OPERATIONS.get(span.text(semconv.GEN_AI_OPERATION_NAME) or "")
    return operation or _fetch(span) or _CONNECTION.get(span.name.partition(" ")[0]) or _step(span) or _carrier(span)


def declared(span: Span) -> Stage | None:
    """The stage that the program itself gave the span, if it is one that exists."""
    if span.flag(semconv.HUMAN):
        return Stage.USER_WAIT
    name = span.text(semconv.STAGE)
    return Stage(name) if name in _STAGES else None


_STAGES = frozenset(Stage)


def _fetch(span: Span) -> Role | None:
    """Asking for an answer that was begun earlier is a model call only where it brings the tokens."""
    fetched = span.text(semconv.GEN_AI_OPERATION_NAME) == semconv.OPERATION_FETCH_RESPONSE
    return Role.INFERENCE if fetched and span.integer(semconv.GEN_AI_USAGE_INPUT_TOKENS) is not None else None


def _step(span: Span) -> Role | None:
    named = span.text(semconv.STEP_NAME) or span.name.startswith(semconv.STEP_SPAN_PREFIX)
    return Role.STEP if named else None


def _carrier(span: Span) -> Role:
    if span.text(semconv.DB_SYSTEM_NAME):
        return Role.DATABASE
    if span.text(semconv.HTTP_REQUEST_METHOD):
        return Role.HTTP_SERVER if span.kind is Kind.SERVER else Role.HTTP_CLIENT
    if span.text(semconv.RPC_SYSTEM_NAME):
        return Role.RPC
    return Role.UNKNOWN
