"""Requests as an instrumented agent sends them: traces of 16 spans with about a dozen attributes each."""

from __future__ import annotations

import random
import re
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from spanwise import semconv as sc

Places: TypeAlias = npt.NDArray[np.int64]

SPANS_PER_TRACE: Final = 16
_START_NS: Final = 1_700_000_000_000_000_000
_MILLISECOND_NS: Final = 1_000_000
_CONVERSATION: Final = "conversation-"
_DIGITS: Final = 9


def request(spans: int, *, seed: int) -> bytes:
    """A serialized request with this many spans; another seed gives other ids and values."""
    rng = random.Random(seed)  # noqa: S311  # reproducible, not secret
    message = ExportTraceServiceRequest()
    resource_spans = message.resource_spans.add()
    for name, text in ((sc.SERVICE_NAME, "support-agent"), (sc.SERVICE_INSTANCE_ID, f"instance-{seed % 4}")):
        resource_spans.resource.attributes.add(key=name).value.string_value = text
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "spanwise"
    for first in range(0, spans, SPANS_PER_TRACE):
        _trace(scope_spans, rng, min(SPANS_PER_TRACE, spans - first))
    return bytes(message.SerializeToString())


class Template:
    """A request whose traces and conversations can be made new ones at little cost."""

    def __init__(self, spans: int, *, seed: int) -> None:
        body = request(spans, seed=seed)
        self._body = np.frombuffer(body, np.uint8)
        message = ExportTraceServiceRequest.FromString(body)
        found = [span.trace_id for span in message.resource_spans[0].scope_spans[0].spans]
        self._traces = [_places(body, trace, 16) for trace in dict.fromkeys(found)]
        names = dict.fromkeys(re.findall(rb"%b[0-9]{%d}" % (_CONVERSATION.encode(), _DIGITS), body))
        self._names = [_places(body, name, _DIGITS, skip=len(_CONVERSATION)) for name in names]

    def request(self, rng: np.random.Generator) -> bytes:
        """The same spans in traces and conversations that nobody has seen."""
        body = self._body.copy()
        for places in self._traces:
            body[places] = rng.integers(0, 256, 16, np.uint8)
        for places in self._names:
            body[places] = rng.integers(48, 58, _DIGITS, np.uint8)
        return bytes(body.tobytes())


def _places(body: bytes, what: bytes, length: int, *, skip: int = 0) -> Places:
    """Where ``length`` bytes of each occurrence lie, one row an occurrence."""
    starts = [found.start() + skip for found in re.finditer(re.escape(what), body)]
    return np.array(starts)[:, None] + np.arange(length)


def _trace(scope_spans: ScopeSpans, rng: random.Random, spans: int) -> None:
    trace_id, root_id = rng.randbytes(16), rng.randbytes(8)
    conversation = f"{_CONVERSATION}{rng.randrange(10**_DIGITS):0{_DIGITS}}"
    for index in range(spans):
        start = _START_NS + index * _MILLISECOND_NS
        span = scope_spans.spans.add(
            trace_id=trace_id,
            span_id=rng.randbytes(8) if index else root_id,
            parent_span_id=root_id if index else b"",
            start_time_unix_nano=start,
            end_time_unix_nano=start + rng.randrange(10**9),
            flags=257,
        )
        _attribute(span, sc.GEN_AI_CONVERSATION_ID, conversation)
        _attribute(span, sc.TURN, 1)
        (_step, _chat, _call)[index % 3](span, rng)


def _chat(span: Span, rng: random.Random) -> None:
    span.name, span.kind = "chat local-model", Span.SPAN_KIND_CLIENT
    _attribute(span, sc.GEN_AI_OPERATION_NAME, sc.OPERATION_CHAT)
    _attribute(span, sc.GEN_AI_PROVIDER_NAME, "openai")
    _attribute(span, sc.GEN_AI_REQUEST_MODEL, "local-model")
    _attribute(span, sc.GEN_AI_RESPONSE_MODEL, "local-model-1")
    _attribute(span, sc.GEN_AI_REQUEST_STREAM, True)
    _attribute(span, sc.GEN_AI_USAGE_INPUT_TOKENS, rng.randrange(20_000))
    _attribute(span, sc.GEN_AI_USAGE_OUTPUT_TOKENS, rng.randrange(500))
    _attribute(span, sc.RESPONSE_TIME_TO_FIRST_CONTENT, rng.random())
    _attribute(span, sc.REQUEST_HASH, rng.randbytes(8).hex())
    _attribute(span, sc.SERVER_ADDRESS, "model.example")
    reasons = span.attributes.add(key=sc.GEN_AI_RESPONSE_FINISH_REASONS).value.array_value
    reasons.values.add().string_value = "stop"


def _call(span: Span, rng: random.Random) -> None:
    span.name, span.kind = "tools/call get_order", Span.SPAN_KIND_CLIENT
    _attribute(span, sc.GEN_AI_OPERATION_NAME, sc.OPERATION_EXECUTE_TOOL)
    _attribute(span, sc.GEN_AI_TOOL_NAME, "get_order")
    _attribute(span, sc.MCP_METHOD_NAME, "tools/call")
    _attribute(span, sc.MCP_SERVER_NAME, "orders")
    _attribute(span, sc.MCP_CONNECTION_ID, rng.randbytes(4).hex())
    _attribute(span, sc.JSONRPC_REQUEST_ID, str(rng.randrange(100)))
    _attribute(span, sc.NETWORK_TRANSPORT, "pipe")
    _attribute(span, sc.TOOL_ARGS_BYTES, rng.randrange(1_000))
    _attribute(span, sc.TOOL_RESULT_BYTES, rng.randrange(10_000))
    _attribute(span, sc.TOOL_ARGS_HASH, rng.randbytes(8).hex())


def _step(span: Span, rng: random.Random) -> None:
    span.name, span.kind = "agent.step.lookup", Span.SPAN_KIND_INTERNAL
    _attribute(span, sc.STEP_NAME, "lookup")
    _attribute(span, sc.GEN_AI_AGENT_NAME, "support")
    _attribute(span, sc.STEP_OUTPUT_STATUS, "ok")
    for number in range(4):
        _attribute(span, f"{sc.STEP_INPUT_PREFIX}{number}", rng.randbytes(4).hex())
        _attribute(span, f"{sc.STEP_OUTPUT_PREFIX}{number}", rng.randrange(1_000))


def _attribute(span: Span, name: str, found: str | float) -> None:
    value = span.attributes.add(key=name).value
    if isinstance(found, str):
        value.string_value = found
    elif isinstance(found, bool):
        value.bool_value = found
    elif isinstance(found, int):
        value.int_value = found
    else:
        value.double_value = found
