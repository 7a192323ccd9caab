from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise import semconv as sc
from spanwise_collector import dialect
from spanwise_collector.otlp import value
from spanwise_collector.otlp.columns import flatten
from spanwise_collector.otlp.decode import decode
from spanwise_collector.otlp.hot import hot
from spanwise_collector.span import Span

_NAMES = {
    "conversation_id": sc.GEN_AI_CONVERSATION_ID,
    "operation": sc.GEN_AI_OPERATION_NAME,
    "tool": sc.GEN_AI_TOOL_NAME,
    "agent": sc.GEN_AI_AGENT_NAME,
    "step": sc.STEP_NAME,
    "mcp_method": sc.MCP_METHOD_NAME,
    "request_id": sc.JSONRPC_REQUEST_ID,
    "input_tokens": sc.GEN_AI_USAGE_INPUT_TOKENS,
    "output_tokens": sc.GEN_AI_USAGE_OUTPUT_TOKENS,
}
_KEYS = [
    *_NAMES.values(),
    *(source for name in _NAMES.values() for source in dialect.ALIASES.get(name, ())),
    *dialect.OPERATIONS,
    *dialect.AGENTIC,
    dialect.SESSION_ID,
    dialect.TRACELOOP_ENTITY,
    dialect.MODEL_NAME,
    sc.GEN_AI_TOOL_CALL_ID,
]
_VALUES = st.sampled_from(
    [
        *("", "c-1", "12", "1.5", "chat", "tools/call", "tool", 7, 0, -3, 2.0, 2.5, None),
        *("llm", "generation", "ai.toolCall", "LLM", "TOOL", "CHAIN"),
    ]
)
_SCOPES = ["", dialect.OPENLLMETRY_MCP_SCOPE, "openinference.instrumentation.openai"]
_SPAN_NAMES = [
    *("work", "agent.step.lookup", "MCP send tools/call get", "tools/call get", "tools/list"),
    *("get.tool", "a/b.mcp"),
]
_SPANS = st.lists(
    st.tuples(
        st.sampled_from(_SPAN_NAMES),
        st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=6),
        st.sampled_from(_SCOPES),
    ),
    min_size=1,
    max_size=4,
)


def _set(target: Any, found: Any) -> None:
    match found:
        case str():
            target.string_value = found
        case int():
            target.int_value = found
        case float():
            target.double_value = found
        case None:
            target.SetInParent()


def _columns(spans: list[tuple[str, dict[str, Any], str]]) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for name, attributes, _ in spans:
        message = scope.spans.add(trace_id=b"\x01" * 16, span_id=b"\x02" * 8, name=name)
        for key, found in attributes.items():
            _set(message.attributes.add(key=key).value, found)
    columns = flatten([decode(request.SerializeToString())]).columns
    found = hot(columns["attributes"], columns["name"], pa.array([each for _, _, each in spans], pa.string()))
    read_back = [value.attributes(entries) for entries in columns["attributes"].to_pylist()]
    return {name: column.to_pylist() for name, column in found.items()}, read_back


def _text(found: Any) -> str | None:
    if isinstance(found, float):
        return str(int(found)) if found.is_integer() else str(found)
    return None if found in (None, "") else str(found)


def _canonical(name: str, attributes: dict[str, Any], scope: str, column: str) -> Any:
    found = dialect.canonical(attributes, name, scope)
    if column.endswith("_tokens"):
        span = Span("", "", "", name, 0, 0, attributes=found)
        number = span.integer(_NAMES[column])
        text = found.get(_NAMES[column])
        return int(text) if number is None and isinstance(text, str) and text.lstrip("-").isdecimal() else number
    return _text(found.get(_NAMES[column]))


@settings(max_examples=100, deadline=None)
@given(_SPANS)
def test_columns_mean_what_the_canonical_attributes_mean(spans: list[tuple[str, dict[str, Any], str]]) -> None:
    columns, read_back = _columns(spans)
    for column in _NAMES:
        pairs = zip(spans, read_back, strict=True)
        expected = [_canonical(name, found, scope, column) for (name, _, scope), found in pairs]
        assert expected == columns[column], column


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"gen_ai.conversation.id": "a", "conversation.id": "b"}, "a"),
        ({"conversation.id": "b"}, "b"),
        ({"session.id": "s"}, None),
        ({"session.id": "s", "openinference.span.kind": "LLM"}, "s"),
        ({"session.id": "s", "conversation.id": "b", "openinference.span.kind": "LLM"}, "b"),
    ],
)
def test_a_session_is_a_conversation_only_on_openinference_spans(
    attributes: dict[str, str], expected: str | None
) -> None:
    columns, _ = _columns([("work", attributes, "")])
    assert [expected] == columns["conversation_id"]
    assert expected == dialect.canonical(attributes, "work").get(sc.GEN_AI_CONVERSATION_ID)


def test_counts_sent_as_text_or_whole_floats_are_counts_and_nothing_else_is() -> None:
    sent = ["2366", 2366.0, 2366, "2.5", 2.5, float("nan"), "many", 1e30]
    columns, _ = _columns([("chat", {"gen_ai.usage.input_tokens": count}, "") for count in sent])
    assert columns["input_tokens"] == [2366, 2366, 2366, None, None, None, None, None]
