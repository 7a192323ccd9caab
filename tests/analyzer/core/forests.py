"""Random sets of spans: odd ones, plain ones and well-nested ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from spanwise import semconv
from spanwise_collector.span import Kind, Span, Status, Value

TRACES = ("1" * 32, "2" * 32)
MISSING = "f" * 16

LOOKS: tuple[tuple[Kind, Mapping[str, Value]], ...] = (
    (Kind.INTERNAL, {}),
    (Kind.INTERNAL, {semconv.GEN_AI_OPERATION_NAME: "invoke_agent"}),
    (Kind.INTERNAL, {semconv.GEN_AI_OPERATION_NAME: "invoke_agent", semconv.TURN: 2}),
    (Kind.CLIENT, {semconv.GEN_AI_OPERATION_NAME: "chat"}),
    (Kind.CLIENT, {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.RESPONSE_TIME_TO_FIRST_CONTENT: 5e-9}),
    (Kind.CLIENT, {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.REQUEST_HASH: "h", semconv.ERROR_TYPE: "500"}),
    (Kind.CLIENT, {semconv.GEN_AI_OPERATION_NAME: "chat", semconv.REQUEST_HASH: "h"}),
    (Kind.INTERNAL, {semconv.GEN_AI_OPERATION_NAME: "execute_tool", semconv.GEN_AI_TOOL_CALL_ID: "i"}),
    (Kind.CLIENT, {semconv.MCP_METHOD_NAME: "tools/call"}),
    (Kind.CLIENT, {semconv.MCP_METHOD_NAME: "tools/call", semconv.MCP_RESULT_TYPE: "input_required"}),
    (Kind.SERVER, {semconv.MCP_METHOD_NAME: "tools/call"}),
    (Kind.CLIENT, {semconv.MCP_METHOD_NAME: "initialize"}),
    (Kind.CLIENT, {semconv.HTTP_REQUEST_METHOD: "GET"}),
    (Kind.SERVER, {semconv.HTTP_REQUEST_METHOD: "POST"}),
    (Kind.CLIENT, {semconv.DB_SYSTEM_NAME: "sqlite"}),
    (Kind.INTERNAL, {semconv.RETRY_ATTEMPT: 1}),
    (Kind.INTERNAL, {semconv.STAGE: "user.wait"}),
    (Kind.INTERNAL, {semconv.ASYNC: True}),
)


def identifier(number: int) -> str:
    """A span id."""
    return f"{number + 1:016x}"


@st.composite
def odd(draw: st.DrawFn, *, size: int = 12) -> list[Span]:
    """Overlaps, orphans, loops, unfinished spans, ends before starts, several traces, every kind of span."""
    count = draw(st.integers(0, size))
    return [_odd(draw, number, count) for number in range(count)]


@st.composite
def plain(draw: st.DrawFn, *, size: int = 12) -> list[Span]:
    """Unclassified spans below earlier ones, anywhere in time."""
    spans = []
    for number in range(draw(st.integers(1, size))):
        parent = draw(st.integers(-1, number - 1))
        start, length = draw(st.integers(0, 40)), draw(st.integers(0, 30))
        spans.append(bare(number, start, start + length, parent))
    return spans


@st.composite
def nested(draw: st.DrawFn, *, size: int = 12) -> list[Span]:
    """One root; every span lies inside its parent."""
    spans = [bare(0, 0, 60, -1)]
    for number in range(1, draw(st.integers(1, size))):
        parent = spans[draw(st.integers(0, number - 1))]
        start = draw(st.integers(parent.start_ns, parent.end_ns)) - 1000
        end = draw(st.integers(start, parent.end_ns - 1000))
        spans.append(bare(number, start, end, int(parent.span_id, 16) - 1))
    return spans


def bare(number: int, start: int, end: int, parent: int, **rest: Any) -> Span:
    """A finished span, 1,000 ns after the epoch; ``parent`` -1 is none."""
    parent_id = identifier(parent) if parent >= 0 else ""
    return Span(TRACES[0], identifier(number), parent_id, f"s{number}", 1000 + start, 1000 + end, **rest)


def _odd(draw: st.DrawFn, number: int, count: int) -> Span:
    kind, attributes = draw(st.sampled_from(LOOKS))
    start = 1000 + draw(st.integers(0, 40))
    end = draw(st.one_of(st.just(0), st.integers(start - 2, start + 30), st.integers(start, start + 30)))
    parent = draw(st.one_of(st.just(""), st.just(MISSING), st.integers(0, count - 1).map(identifier)))
    return Span(
        trace_id=draw(st.sampled_from(TRACES)),
        span_id=identifier(number),
        parent_id=parent,
        name=f"s{number}",
        start_ns=start,
        end_ns=end,
        kind=kind,
        status=draw(st.sampled_from(Status)),
        scope=draw(st.sampled_from(["", "", "one", "other"])),
        attributes={semconv.GEN_AI_CONVERSATION_ID: "c", **attributes},
    )
