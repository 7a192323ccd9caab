"""Switching on and off: once is enough, nothing is left behind, nothing is counted twice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client import _memory, caching, stdio, streamable_http
from mcp.server import _otel as server_tracing
from mcp.server.mcpserver import MCPServer
from mcp.shared import _otel, direct_dispatcher, jsonrpc_dispatcher
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

import spanwise
from spanwise.mcp.patch import Patches

Stdio = Callable[..., StdioServerParameters]

SEAMS: list[tuple[Any, str]] = [
    (_otel, "_tracer"),
    (Client, "__aenter__"),
    (Client, "__aexit__"),
    (Client, "_build_session"),
    (Client, "call_tool"),
    (Client, "_relist_tool"),
    (ClientSession, "__init__"),
    (ClientSession, "__aexit__"),
    (ClientSession, "adopt"),
    (ClientSession, "initialize"),
    (ClientSession, "call_tool"),
    (ClientSession, "send_request"),
    (ClientSession, "validate_tool_result"),
    (_memory.InMemoryTransport, "__aenter__"),
    (caching.ClientResponseCache, "read"),
    (stdio, "_create_platform_compatible_process"),
    (stdio, "_stop_server_process"),
    (streamable_http, "create_mcp_http_client"),
    (streamable_http.StreamableHTTPTransport, "__init__"),
    (streamable_http.StreamableHTTPTransport, "handle_get_stream"),
    (streamable_http.StreamableHTTPTransport, "terminate_session"),
    (streamable_http.StreamableHTTPTransport, "_handle_post_request"),
    (streamable_http.StreamableHTTPTransport, "_handle_reconnection"),
    (streamable_http.StreamableHTTPTransport, "_prepare_headers"),
    (ClientSession, "_intercept_notification"),
    (jsonrpc_dispatcher.JSONRPCDispatcher, "notify"),
    (jsonrpc_dispatcher.JSONRPCDispatcher, "send_raw_request"),
    (direct_dispatcher.DirectDispatcher, "send_raw_request"),
    (server_tracing.OpenTelemetryMiddleware, "__call__"),
]


def server() -> MCPServer:
    made = MCPServer("shop")

    @made.tool(structured_output=False)
    def ok() -> str:
        return "fine"

    return made


def now() -> list[Any]:
    return [vars(owner)[name] for owner, name in SEAMS]


async def test_twice_on_and_once_off_is_off(provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    ours = now()
    spanwise.instrument(tracer_provider=provider)
    assert all(one is other for one, other in zip(ours, now(), strict=True))
    async with Client(server(), mode="legacy") as client:
        await client.list_tools()
        exporter.clear()
        await client.call_tool("ok")
        spans = [(span.name, span.kind) for span in exporter.get_finished_spans()]
    assert spans == [("tools/call ok", SpanKind.SERVER), ("tools/call ok", SpanKind.CLIENT)]
    spanwise.uninstrument()
    exporter.clear()
    async with Client(server()) as client:
        await client.call_tool("ok")
    assert exporter.get_finished_spans() == ()


def test_off_puts_the_very_same_objects_back(provider: TracerProvider) -> None:
    originals = now()
    spanwise.instrument(tracer_provider=provider)
    assert all(before is not after for before, after in zip(originals, now(), strict=True))
    spanwise.uninstrument()
    assert all(before is after for before, after in zip(originals, now(), strict=True))


def test_a_foreign_wrapper_around_ours_stays_and_ours_falls_silent() -> None:
    class Sdk:
        def call(self) -> str:
            return "answer"

    def recording(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recorded.append("call")
        return wrapped(*args, **kwargs)

    recorded: list[str] = []
    patches = Patches(lambda: None)
    patches.wrap(Sdk, "call", recording)
    ours = Sdk.call

    def foreign(self: Sdk) -> str:
        return ours(self)

    Sdk.call = foreign  # type: ignore[method-assign]
    patches.undo()
    assert Sdk().call() == "answer"
    assert (vars(Sdk)["call"], recorded) == (foreign, [])


async def test_one_client_span_per_request_beside_the_sdks_own(
    exporter: InMemorySpanExporter, stdio: Stdio, sink: Any
) -> None:
    async with Client(stdio()) as client:
        await client.list_tools()
        exporter.clear()
        await client.call_tool("ok")
        (call,) = exporter.get_finished_spans()
    answered = sink.wait_for("tools/call ok")["tools/call ok"]
    assert (call.name, call.kind) == ("tools/call ok", SpanKind.CLIENT)
    assert call.context is not None
    assert answered.parent_span_id == call.context.span_id.to_bytes(8, "big")


@pytest.mark.parametrize("order", ["spanwise.instrument(); import mcp", "import mcp; spanwise.instrument()"])
def test_order_of_import_and_instrument_does_not_matter(order: str) -> None:
    program = f"import spanwise; {order}; print(type(mcp.ClientSession.call_tool).__name__)"
    environment = {"SPANWISE_RAISE": "1", "OTEL_TRACES_EXPORTER": "none"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() in {"FunctionWrapper", "BoundFunctionWrapper"}


def test_instrument_does_not_load_the_sdk() -> None:
    program = "import sys, spanwise; spanwise.instrument(); print('mcp' in sys.modules)"
    environment = {"SPANWISE_RAISE": "1", "OTEL_TRACES_EXPORTER": "none"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "False"
