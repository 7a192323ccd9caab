"""How requests that did not succeed look, and that their callers see what they would see without us."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, ImageContent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from spanwise import semconv
from spanwise.mcp import toolcall

Stdio = Callable[..., StdioServerParameters]


def slow_server(cancelled: list[str]) -> MCPServer:
    made = MCPServer("slow")

    @made.tool(structured_output=False)
    async def slow() -> str:
        try:
            await anyio.sleep(30)
        except anyio.get_cancelled_exc_class():
            cancelled.append("slow")
            raise
        return "late"

    return made


def one(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in exporter.get_finished_spans() if span.name == name and span.kind is SpanKind.CLIENT]
    return found


def verdict(span: ReadableSpan) -> tuple[StatusCode, Any, Any, Any]:
    """Status, error type, cancelled, timed out."""
    found: Mapping[str, Any] = span.attributes or {}
    names = (semconv.ERROR_TYPE, semconv.CANCELLED, semconv.TIMED_OUT)
    status, marks = span.status.status_code, [found.get(name) for name in names]
    return status, marks[0], marks[1], marks[2]


def seconds(span: ReadableSpan) -> float:
    return ((span.end_time or 0) - (span.start_time or 0)) / 1e9


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_cancelled_call_is_no_success(exporter: InMemorySpanExporter, mode: str) -> None:
    cancelled: list[str] = []
    async with Client(slow_server(cancelled), mode=mode) as client:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.call_tool("slow"), 0.2)
    span = one(exporter, "tools/call slow")
    assert verdict(span) == (StatusCode.UNSET, "cancelled", True, None)
    assert 0.15 < seconds(span) < 2
    assert cancelled == ["slow"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_read_timeout_is_an_error(exporter: InMemorySpanExporter, mode: str) -> None:
    async with Client(slow_server([]), mode=mode) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("slow", read_timeout_seconds=0.2)
    assert raised.value.code == types.REQUEST_TIMEOUT
    span = one(exporter, "tools/call slow")
    assert verdict(span) == (StatusCode.ERROR, "timeout", None, True)
    assert 0.15 < seconds(span) < 2


@pytest.mark.parametrize("content", [[ImageContent(type="image", data="aGk=", mime_type="image/png")], []])
async def test_a_tool_that_says_it_failed_has_failed(exporter: InMemorySpanExporter, content: list[Any]) -> None:
    async def call(_ctx: Any, _params: Any) -> CallToolResult:
        return CallToolResult(content=content, is_error=True)

    async with Client(Server("bad", on_call_tool=call)) as client:
        result = await client.call_tool("bad")
    assert (result.is_error, result.content) == (True, content)
    span = one(exporter, "tools/call bad")
    assert verdict(span) == (StatusCode.ERROR, semconv.ERROR_TOOL, None, None)
    assert (span.attributes or {})[semconv.TOOL_IS_ERROR] is True


async def test_refused_request_carries_the_code(exporter: InMemorySpanExporter) -> None:
    async with Client(MCPServer("shop")) as client:
        with pytest.raises(MCPError):
            await client.read_resource("shop://nothing")
    span = one(exporter, "resources/read")
    code = (span.attributes or {})[semconv.RPC_RESPONSE_STATUS_CODE]
    assert verdict(span) == (StatusCode.ERROR, code, None, None)
    assert (span.attributes or {})[semconv.MCP_RESOURCE_URI] == "shop://nothing"


async def test_child_that_dies_in_a_call(exporter: InMemorySpanExporter, stdio: Stdio) -> None:
    async with stdio_client(stdio()) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        with pytest.raises(MCPError) as first:
            await session.call_tool("die")
        with pytest.raises(MCPError) as second:
            await session.call_tool("ok")
    closed = types.CONNECTION_CLOSED
    assert (first.value.code, second.value.code) == (closed, closed)
    for name in ("tools/call die", "tools/call ok"):
        assert verdict(one(exporter, name)) == (StatusCode.ERROR, str(closed), None, None)
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_refused_connection_is_an_error(exporter: InMemorySpanExporter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ExceptionGroup) as raised:
        async with Client(f"http://127.0.0.1:{port}/mcp"):
            pass
    assert raised.group_contains(Exception, match="connection attempts failed")
    span = one(exporter, "server/discover")
    assert verdict(span) == (StatusCode.ERROR, "httpx2.ConnectError", None, None)


async def test_missing_command_is_a_failed_connect(exporter: InMemorySpanExporter) -> None:
    with pytest.raises(FileNotFoundError):
        async with Client(StdioServerParameters(command="no-such-program")):
            pass
    span = one(exporter, "mcp.connect no-such-program")
    assert verdict(span) == (StatusCode.ERROR, "FileNotFoundError", None, None)
    assert len(exporter.get_finished_spans()) == 1


async def test_missing_command_without_a_client_is_a_failed_connect(exporter: InMemorySpanExporter) -> None:
    with pytest.raises(FileNotFoundError):
        async with stdio_client(StdioServerParameters(command="no-such-program")):
            pass
    span = one(exporter, "mcp.connect no-such-program")
    assert verdict(span) == (StatusCode.ERROR, "FileNotFoundError", None, None)


async def test_session_left_in_another_task(exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture) -> None:
    client = Client(MCPServer("shop"))
    await asyncio.create_task(client.__aenter__())
    with pytest.raises(RuntimeError, match="cancel scope in a different task"):
        await asyncio.create_task(client.__aexit__(None, None, None))
    assert one(exporter, "mcp.close shop").end_time is not None
    assert [record for record in caplog.records if "detach" in record.message] == []


async def test_error_of_the_callers_block_is_no_failure_of_closing(exporter: InMemorySpanExporter) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        async with Client(MCPServer("shop")):
            raise KeyError("of the caller")
    assert raised.group_contains(KeyError)
    assert verdict(one(exporter, "mcp.close shop")) == (StatusCode.UNSET, None, None, None)


async def test_result_that_breaks_its_schema_fails_the_call(exporter: InMemorySpanExporter) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = types.Tool(name="odd", input_schema={"type": "object"}, output_schema=schema)

    async def listed(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async def call(_ctx: Any, _params: Any) -> CallToolResult:
        return CallToolResult(content=[], structured_content={"n": "many"})

    async with Client(Server("odd", on_list_tools=listed, on_call_tool=call)) as client:
        with pytest.raises(RuntimeError, match="Invalid structured content"):
            await client.call_tool("odd")
    span = one(exporter, "tools/call odd")
    assert verdict(span) == (StatusCode.ERROR, "RuntimeError", None, None)
    assert (span.attributes or {})[semconv.MCP_VALIDATION_TIME] > 0  # type: ignore[operator]


def test_call_that_the_process_does_not_wait_for_is_incomplete(run_script: Callable[[str], None], sink: Any) -> None:
    run_script("leaver.py")
    span = sink.wait_for("tools/call hang", "mcp.connect slow")["tools/call hang"]
    marks = {pair.key: pair.value.bool_value for pair in span.attributes}
    assert marks[semconv.INCOMPLETE] is True
    assert span.end_time_unix_nano >= span.start_time_unix_nano > 0


async def test_fault_of_ours_never_reaches_the_caller(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("ours")

    monkeypatch.setenv("SPANWISE_RAISE", "0")
    monkeypatch.setattr(toolcall, "answer", broken)
    monkeypatch.setattr(toolcall, "request", broken)
    server = MCPServer("shop")

    @server.tool(structured_output=False)
    def ok() -> str:
        return "fine"

    async with Client(server) as client:
        result = await client.call_tool("ok")
    assert result.content[0].text == "fine"  # type: ignore[union-attr]
    assert one(exporter, "tools/call ok").end_time is not None
    assert "could not record telemetry" in caplog.text
