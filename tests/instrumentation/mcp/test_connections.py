"""What connecting, the handshake and closing say about the connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx2
import pytest
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from spanwise import context, semconv

Stdio = Callable[..., StdioServerParameters]
Http = Callable[[MCPServer], AbstractAsyncContextManager[str]]


def attributes(exporter: InMemorySpanExporter, name: str) -> list[Mapping[str, Any]]:
    spans = [span for span in exporter.get_finished_spans() if span.name == name and span.kind is SpanKind.CLIENT]
    return [span.attributes or {} for span in spans]


def chosen(found: Mapping[str, Any], *names: str) -> list[Any]:
    return [found.get(name) for name in names]


async def test_process_that_was_started_is_cold(exporter: InMemorySpanExporter, stdio: Stdio) -> None:
    async with Client(stdio()) as client:
        await client.list_tools()
    (connect,) = attributes(exporter, "mcp.connect tools")
    assert chosen(connect, semconv.MCP_TRANSPORT, semconv.NETWORK_TRANSPORT) == ["stdio", "pipe"]
    assert chosen(connect, semconv.MCP_COLD, semconv.MCP_REUSED, semconv.MCP_HANDSHAKE) == [True, False, "discover"]
    assert chosen(connect, semconv.MCP_SERVER_NAME, semconv.MCP_SERVER_VERSION) == ["tools", "1.2.3"]
    assert 0 < connect[semconv.MCP_SPAWN_TIME] <= connect[semconv.MCP_CONNECT_TIME]
    assert isinstance(connect[semconv.MCP_PID], int)
    requests = [*attributes(exporter, "server/discover"), *attributes(exporter, "tools/list")]
    assert [found.get(semconv.MCP_COLD) for found in requests] == [True, None]
    (close,) = attributes(exporter, "mcp.close tools")
    assert close[semconv.MCP_SESSION_REQUESTS] == 2
    assert close[semconv.MCP_SESSION_DURATION] > 0
    ids = {found[semconv.MCP_CONNECTION_ID] for found in (connect, close, *attributes(exporter, "tools/list"))}
    assert len(ids) == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_url_is_written_without_secrets(exporter: InMemorySpanExporter, served: Http, mode: str) -> None:
    server = MCPServer("shop")
    async with served(server) as url:
        secret = url.replace("http://", "http://user:pass@") + "?key=hidden"
        async with Client(secret, mode=mode) as client:
            await client.list_tools()
            session = client.session
    (connect,) = attributes(exporter, "mcp.connect shop")
    port = int(url.split(":")[2].split("/")[0])
    names = (semconv.URL_FULL, semconv.SERVER_ADDRESS, semconv.SERVER_PORT, semconv.NETWORK_TRANSPORT)
    assert chosen(connect, *names) == [url, "127.0.0.1", port, "tcp"]
    assert chosen(connect, semconv.MCP_COLD, semconv.MCP_REUSED, semconv.MCP_PID) == [False, False, None]
    (listed,) = attributes(exporter, "tools/list")
    assert chosen(listed, semconv.SERVER_ADDRESS, semconv.SERVER_PORT) == ["127.0.0.1", port]
    assert listed[semconv.MCP_PROTOCOL_VERSION] == session.protocol_version
    assert (semconv.MCP_SESSION_ID in listed) == (mode == "legacy")


async def test_http_client_of_the_caller_is_reused(exporter: InMemorySpanExporter, served: Http) -> None:
    async with served(MCPServer("shop")) as url, httpx2.AsyncClient() as http:
        async with Client(streamable_http_client(url, http_client=http)):
            pass
        async with (
            streamable_http_client(url, http_client=http) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
    assert [found[semconv.MCP_REUSED] for found in attributes(exporter, "mcp.connect shop")] == [True, True]


async def test_servers_opened_together_are_kept_apart(exporter: InMemorySpanExporter, stdio: Stdio) -> None:
    async with (
        stdio_client(stdio()) as first,
        stdio_client(stdio("legacy.py")) as second,
        ClientSession(*first) as tools,
        ClientSession(*second) as elder,
    ):
        await elder.initialize()
        await tools.initialize()
    handshakes = {found[semconv.MCP_SERVER_NAME]: found for found in attributes(exporter, "initialize")}
    for name in ("tools", "elder"):
        (connect,) = attributes(exporter, f"mcp.connect {name}")
        assert connect[semconv.MCP_CONNECTION_ID] == handshakes[name][semconv.MCP_CONNECTION_ID]


async def test_fallback_from_a_refused_probe(exporter: InMemorySpanExporter, stdio: Stdio) -> None:
    async with Client(stdio("legacy.py")) as client:
        assert client.protocol_version == "2025-11-25"
    (discover,) = [span for span in exporter.get_finished_spans() if span.name == "server/discover"]
    assert discover.status.status_code is StatusCode.ERROR
    names = (semconv.ERROR_TYPE, semconv.MCP_SERVER_NAME, semconv.MCP_PROTOCOL_VERSION, semconv.MCP_FALLBACK)
    assert chosen(discover.attributes or {}, *names) == ["-32601", "elder", None, None]
    assert discover.end_time is not None
    (initialize,) = attributes(exporter, "initialize")
    (greeting,) = [span for span in exporter.get_finished_spans() if span.name == "initialize"]
    assert discover.end_time <= (greeting.start_time or 0)
    names = (semconv.MCP_FALLBACK, semconv.MCP_PROTOCOL_VERSION, semconv.MCP_SERVER_NAME, semconv.MCP_CAPABILITIES)
    assert chosen(initialize, *names) == [True, "2025-11-25", "elder", ("tools",)]
    (connect,) = attributes(exporter, "mcp.connect elder")
    assert connect[semconv.MCP_HANDSHAKE] == "initialize"


async def test_initialize_that_was_asked_for_is_no_fallback(exporter: InMemorySpanExporter) -> None:
    async with Client(MCPServer("shop"), mode="legacy"):
        pass
    (initialize,) = attributes(exporter, "initialize")
    assert initialize[semconv.MCP_FALLBACK] is False


async def test_server_by_url_may_learn_the_conversation(exporter: InMemorySpanExporter) -> None:
    assert exporter.get_finished_spans() == ()
    assert not context.propagates_to("mcp.example.com")
    async with streamable_http_client("https://mcp.example.com/mcp"):
        pass
    assert context.propagates_to("mcp.example.com")
