"""What one short session looks like, over every transport."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import pytest
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

import spanwise
from spanwise import semconv

Stdio = Callable[..., StdioServerParameters]
Http = Callable[[MCPServer], AbstractAsyncContextManager[str]]

TURN = "invoke_agent shop"
OTHERS = {"POST", "GET", "DELETE", "notifications/initialized"}


def server() -> MCPServer:
    made = MCPServer("shop", version="1.0")

    @made.tool()
    def ok() -> str:
        return "fine"

    return made


def tree(spans: Sequence[ReadableSpan], kinds: Sequence[SpanKind]) -> list[str]:
    """The spans of these kinds as "parent > name", in order of their start."""
    names = {span.context.span_id: span.name for span in spans if span.context}
    chosen = sorted((span for span in spans if span.kind in kinds), key=lambda span: span.start_time or 0)
    return [f"{names[span.parent.span_id] if span.parent else None} > {span.name}" for span in chosen]


def clients(exporter: InMemorySpanExporter) -> list[str]:
    """The client spans of MCP requests, without those of HTTP and of notifications."""
    spans = exporter.get_finished_spans()
    return [line for line in tree(spans, [SpanKind.CLIENT]) if line.split(" > ")[1] not in OTHERS]


def session(discover: str) -> list[str]:
    return [
        f"{TURN} > mcp.connect {{}}",
        f"{TURN} > {discover}",
        f"{TURN} > tools/list",
        f"{TURN} > tools/call ok",
        f"{TURN} > mcp.close {{}}",
    ]


def named(lines: list[str], name: str) -> list[str]:
    return [line.format(name) for line in lines]


async def use(client: Client) -> None:
    async with client:
        await client.list_tools()
        await client.call_tool("ok")


@pytest.mark.parametrize(("mode", "handshake"), [("auto", "server/discover"), ("legacy", "initialize")])
async def test_client_over_stdio(exporter: InMemorySpanExporter, stdio: Stdio, mode: str, handshake: str) -> None:
    with spanwise.conversation("c"), spanwise.turn(agent="shop"):
        await use(Client(stdio(), mode=mode))
    assert named(session(handshake), "tools") == clients(exporter)


async def test_transport_and_session_put_together_over_stdio(exporter: InMemorySpanExporter, stdio: Stdio) -> None:
    with spanwise.conversation("c"), spanwise.turn(agent="shop"):
        async with stdio_client(stdio()) as (read, write), ClientSession(read, write) as opened:
            await opened.initialize()
            await opened.list_tools()
            await opened.call_tool("ok")
    assert named(session("initialize"), "tools") == clients(exporter)


@pytest.mark.parametrize(("mode", "handshake"), [("auto", "server/discover"), ("legacy", "initialize")])
async def test_client_over_http(exporter: InMemorySpanExporter, served: Http, mode: str, handshake: str) -> None:
    async with served(server()) as url:
        with spanwise.conversation("c"), spanwise.turn(agent="shop"):
            await use(Client(url, mode=mode))
    assert named(session(handshake), "shop") == clients(exporter)


async def test_transport_and_session_put_together_over_http(exporter: InMemorySpanExporter, served: Http) -> None:
    async with served(server()) as url:
        with spanwise.conversation("c"), spanwise.turn(agent="shop"):
            async with streamable_http_client(url) as (read, write), ClientSession(read, write) as opened:
                await opened.initialize()
                await opened.list_tools()
                await opened.call_tool("ok")
    assert named(session("initialize"), "shop") == clients(exporter)


@pytest.mark.parametrize(("mode", "handshake"), [("auto", "server/discover"), ("legacy", "initialize")])
async def test_client_in_process(exporter: InMemorySpanExporter, mode: str, handshake: str) -> None:
    with spanwise.conversation("c"), spanwise.turn(agent="shop"):
        await use(Client(server(), mode=mode))
    assert named(session(handshake), "shop") == clients(exporter)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["http", "in-process"])
async def test_server_spans_nest_under_client_spans(
    exporter: InMemorySpanExporter, served: Http, mode: str, transport: str
) -> None:
    if transport == "http":
        async with served(server()) as url:
            await use(Client(url, mode=mode))
    else:
        await use(Client(server(), mode=mode))
    lines = tree(exporter.get_finished_spans(), [SpanKind.SERVER])
    handshake = "initialize" if mode == "legacy" else "server/discover"
    expected = [f"{name} > {name}" for name in (handshake, "tools/list", "tools/call ok")]
    assert expected == [line for line in lines if "notifications/" not in line]


async def test_set_up_outside_any_span_is_one_trace(exporter: InMemorySpanExporter) -> None:
    async with Client(server(), mode="legacy"):
        pass
    assert clients(exporter) == [
        "None > mcp.connect shop",
        "mcp.connect shop > initialize",
        "mcp.connect shop > mcp.close shop",
    ]


async def test_pinned_version_needs_no_handshake(exporter: InMemorySpanExporter, stdio: Stdio) -> None:
    async with Client(stdio(), mode="2026-07-28"):
        pass
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"mcp.connect tools.py", "mcp.close tools.py"}
    attributes = spans["mcp.connect tools.py"].attributes or {}
    assert (attributes[semconv.MCP_HANDSHAKE], attributes[semconv.MCP_PROTOCOL_VERSION]) == ("none", "2026-07-28")


async def test_connecting_ends_before_the_handshake_begins(exporter: InMemorySpanExporter, stdio: Stdio) -> None:
    async with Client(stdio()):
        pass
    spans = {span.name: span for span in exporter.get_finished_spans()}
    connect, discover = spans["mcp.connect tools"], spans["server/discover"]
    assert connect.end_time is not None
    assert discover.start_time is not None
    assert connect.end_time <= discover.start_time
    attributes = connect.attributes or {}
    assert attributes[semconv.MCP_CONNECT_TIME] == (connect.end_time - (connect.start_time or 0)) / 1e9
