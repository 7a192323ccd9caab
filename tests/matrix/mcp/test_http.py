"""Streamable HTTP: each request of the wire belongs to the message it carries, and the trace goes along."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
from mcp import ClientSession
from mcp.client.sse import sse_client
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from tests.matrix.mcp.caller import opened
from tests.matrix.mcp.shop.breaking import Breaking
from tests.matrix.mcp.shop.sdk import MODERN, MODES, VERSION, build, custom, nothing_heard, text
from tests.matrix.mcp.shop.web import Recorder, application, listening

import spanwise
from spanwise import semconv

# Servers of 1.x do not close all their streams.
pytestmark = [] if MODERN else [pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

RESUMES = (1, 24)  # the first version that asks for the rest of a stream


def span_of(header: str) -> int:
    return int(header.split("-")[2], 16)


def trace_of(header: str) -> int:
    return int(header.split("-")[1], 16)


def called(spans: tuple[ReadableSpan, ...], name: str) -> list[ReadableSpan]:
    return [span for span in spans if span.name == name and span.kind is SpanKind.CLIENT]


def recorder(*, silent: bool = False) -> Recorder:
    async def call(_name: str, _arguments: Any, _session: Any) -> dict[str, Any]:
        await asyncio.sleep(0.05)
        return text("fine")

    return Recorder(application(custom(call)), silent=silent)


@pytest.mark.parametrize("mode", MODES)
async def test_concurrent_callers_keep_their_own_requests(
    traced: InMemorySpanExporter, provider: TracerProvider, mode: str
) -> None:
    app, tracer = recorder(), provider.get_tracer("agent")

    async def agent(name: str) -> int:
        with tracer.start_as_current_span(name) as span:
            await caller.call(name)
            return span.get_span_context().trace_id

    async with listening(app) as url, opened(url, mode, nothing_heard) as caller:
        traces = await asyncio.gather(agent("one"), agent("two"))
    spans = traced.get_finished_spans()
    known = {span.context.span_id: span for span in spans if span.context}
    for name, trace_id, request in zip(("one", "two"), traces, app.of("tools/call"), strict=True):
        (call,) = called(spans, f"tools/call {name}")
        assert call.context is not None
        post = known[span_of(request.headers["traceparent"])]
        assert ("POST", call.context.span_id) == (post.name, post.parent.span_id if post.parent else None)
        assert call.context.span_id == span_of(request.meta["traceparent"])
        assert trace_id == trace_of(request.headers["traceparent"]) == trace_of(request.meta["traceparent"])
    for span in spans:
        if span.name == "GET":
            assert span.parent is not None
            assert known[span.parent.span_id].name == "mcp.connect custom"


@pytest.mark.parametrize("mode", MODES)
async def test_header_is_sent_also_where_http_has_no_spans(
    provider: TracerProvider, kept: InMemorySpanExporter, mode: str
) -> None:
    app = recorder()
    spanwise.uninstrument()
    spanwise.instrument(tracer_provider=provider, httpx=False)
    async with listening(app) as url, opened(url, mode, nothing_heard) as caller:
        with spanwise.conversation("c-1"):
            await caller.call("ok")
    spanwise.uninstrument()
    (call,) = called(kept.get_finished_spans(), "tools/call ok")
    (request,) = app.of("tools/call")
    assert call.context is not None
    assert call.context.span_id == span_of(request.headers["traceparent"])
    assert "c-1" in request.headers["baggage"]
    assert not called(kept.get_finished_spans(), "POST")


@pytest.mark.parametrize("mode", MODES)
async def test_caller_that_names_its_trace_only_by_headers_is_joined(traced: InMemorySpanExporter, mode: str) -> None:
    app = recorder(silent=True)
    async with listening(app) as url, opened(url, mode, nothing_heard) as caller:
        with spanwise.conversation("c-1"):
            await caller.call("ok")
    (handled,) = (
        span for span in traced.get_finished_spans() if span.name == "tools/call ok" and span.kind is SpanKind.SERVER
    )
    (request,) = app.of("tools/call")
    assert "traceparent" not in request.meta
    assert handled.parent is not None
    assert span_of(request.headers["traceparent"]) == handled.parent.span_id
    assert (handled.attributes or {})[semconv.GEN_AI_CONVERSATION_ID] == "c-1"


async def test_events_over_two_requests_are_a_connection_too(traced: InMemorySpanExporter) -> None:
    # The oldest way of MCP over HTTP: one request to listen, one more for each message.
    async with listening(build("high").sse_app()) as url, AsyncExitStack() as stack:
        with spanwise.turn(agent="caller"):
            streams = await stack.enter_async_context(sse_client(url.removesuffix("/mcp") + "/sse"))
            session: Any = await stack.enter_async_context(ClientSession(*streams))
            await session.initialize()
            await session.call_tool("ok", {})
            await stack.aclose()
    spans = [span for span in traced.get_finished_spans() if span.kind is SpanKind.CLIENT]
    names = {span.context.span_id: span.name for span in traced.get_finished_spans() if span.context}
    (connect,), (call,) = called((*spans,), "mcp.connect shop"), called((*spans,), "tools/call ok")
    assert ("http", "127.0.0.1") == (
        attributes(connect)[semconv.MCP_TRANSPORT],
        attributes(call)[semconv.SERVER_ADDRESS],
    )
    for name in ("mcp.connect shop", "initialize", "tools/call ok", "mcp.close shop"):
        (span,) = called((*spans,), name)
        assert span.parent is not None
        assert "invoke_agent caller" == names[span.parent.span_id]


if "meta" in inspect.signature(ClientSession.call_tool).parameters:

    @pytest.mark.parametrize("mode", MODES)
    async def test_what_the_caller_says_of_a_message_stays(traced: InMemorySpanExporter, mode: str) -> None:
        async def progressed(_progress: float, _total: float | None, _message: str | None) -> None:
            pass

        app, mine = recorder(), {"mine": {"deep": [1]}}
        if not MODERN:  # 2.x itself overwrites this one
            mine["traceparent"] = f"00-{7:032x}-{9:016x}-01"  # type: ignore[assignment]
        async with listening(app) as url, opened(url, mode, nothing_heard) as caller:
            await caller.call("ok", meta=mine, progress_callback=progressed)
        (request,) = app.of("tools/call")
        assert mine == {name: request.meta[name] for name in mine}
        assert request.message["id"] == request.meta["progressToken"]
        assert "traceparent" in request.meta
        (call,) = called(traced.get_finished_spans(), "tools/call ok")
        assert call.context is not None
        assert (7 if not MODERN else call.context.trace_id) == trace_of(request.meta["traceparent"])


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


if VERSION >= RESUMES:

    @pytest.mark.parametrize("times", [1, 3])
    async def test_streams_that_broke_off_are_one_call_with_a_count(traced: InMemorySpanExporter, times: int) -> None:
        async with listening(Breaking(times)) as url, opened(url, "legacy", nothing_heard) as caller:
            result = await caller.call("ok")
        assert "at last" in str(result.content)
        spans = traced.get_finished_spans()
        (call,), (close,) = called(spans, "tools/call ok"), called(spans, "mcp.close breaking")
        assert times == attributes(call)[semconv.MCP_RECONNECTS] == attributes(close)[semconv.MCP_SESSION_RECONNECTS]
        assert call.context is not None
        resumed = [span for span in called(spans, "GET") if span.parent and span.parent.span_id == call.context.span_id]
        assert times == len(resumed)
