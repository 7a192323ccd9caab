"""A conversation reaches every span, also inside the handlers of servers in other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

import spanwise
from spanwise import context, semconv, tracer

Stdio = Callable[..., StdioServerParameters]
Http = Callable[[MCPServer], AbstractAsyncContextManager[str]]


def attributes(span: Span) -> dict[str, Any]:
    found = {}
    for pair in span.attributes:
        found[pair.key] = getattr(pair.value, str(pair.value.WhichOneof("value")))
    return found


async def call_in_conversation(client: Client) -> None:
    async with client:
        with spanwise.conversation("c-1"), spanwise.turn(7, agent="shop"):
            await client.call_tool("ok", {"order": "A-1"})


def check(spans: dict[str, Span], exporter: InMemorySpanExporter) -> None:
    (call,) = [span for span in exporter.get_finished_spans() if span.name == "tools/call ok"]
    assert call.context is not None
    server, work = spans["tools/call ok"], spans["work"]
    for span in (server, work):
        found = attributes(span)
        assert (found[semconv.GEN_AI_CONVERSATION_ID], found[semconv.TURN]) == ("c-1", 7)
        assert int.from_bytes(span.trace_id, "big") == call.context.trace_id
    assert server.kind == Span.SPAN_KIND_SERVER
    assert (int.from_bytes(server.parent_span_id, "big"), work.parent_span_id) == (call.context.span_id, server.span_id)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_stdio(exporter: InMemorySpanExporter, stdio: Stdio, sink: Any, mode: str) -> None:
    await call_in_conversation(Client(stdio(), mode=mode))
    check(sink.wait_for("tools/call ok", "work"), exporter)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_http(exporter: InMemorySpanExporter, http_process: str, sink: Any, mode: str) -> None:
    await call_in_conversation(Client(http_process, mode=mode))
    check(sink.wait_for("tools/call ok", "work"), exporter)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_session_opened_in_one_conversation_serves_another(exporter: InMemorySpanExporter, mode: str) -> None:
    seen: list[tuple[str | None, int | None]] = []
    server = MCPServer("shop")

    @server.tool(structured_output=False)
    def ok() -> str:
        seen.append((context.conversation_id(), context.turn_number()))
        return "fine"

    with spanwise.conversation("first"), spanwise.turn(1):
        client = await Client(server, mode=mode).__aenter__()
    with spanwise.conversation("second"), spanwise.turn(2):
        await client.call_tool("ok")
    await client.call_tool("ok")
    await client.__aexit__(None, None, None)
    assert seen == [("second", 2), (None, None)]
    calls = [span for span in exporter.get_finished_spans() if span.name == "tools/call ok"]
    found = [(span.kind, (span.attributes or {}).get(semconv.GEN_AI_CONVERSATION_ID)) for span in calls]
    assert found == [
        (SpanKind.SERVER, "second"),
        (SpanKind.CLIENT, "second"),
        (SpanKind.SERVER, None),
        (SpanKind.CLIENT, None),
    ]


async def test_concurrent_callers_keep_their_own_spans(exporter: InMemorySpanExporter, served: Http) -> None:
    met = asyncio.Event()
    waiting: list[str] = []
    server = MCPServer("shop")

    @server.tool(structured_output=False)
    async def meet(name: str) -> str:
        waiting.append(name)
        if len(waiting) == 2:
            met.set()
        await met.wait()
        return name

    async def caller(client: Client, name: str) -> None:
        with tracer.tracer().start_as_current_span(name):
            await client.call_tool("meet", {"name": name})

    async with served(server) as url, Client(url, mode="legacy") as client:
        await client.list_tools()
        await asyncio.gather(caller(client, "one"), caller(client, "two"))
    spans = exporter.get_finished_spans()
    posts = [span for span in spans if span.name == "POST"]
    lines = [lineage(span, spans) for span in posts]
    for name in ("one", "two"):
        assert lines.count(["POST", "tools/call meet", name]) == 1
    (listening,) = [span for span in spans if span.name == "GET"]
    assert lineage(listening, spans) == ["GET", "mcp.connect shop"]
    serving = [lineage(span, spans) for span in spans if span.kind is SpanKind.SERVER and span.name.endswith("meet")]
    assert sorted(serving) == [["tools/call meet", "tools/call meet", name] for name in ("one", "two")]


def lineage(span: ReadableSpan, spans: tuple[ReadableSpan, ...]) -> list[str]:
    """Names from ``span`` up to its root."""
    by_id = {other.context.span_id: other for other in spans if other.context}
    names = [span.name]
    while span.parent is not None:
        span = by_id[span.parent.span_id]
        names.append(span.name)
    return names
