"""Lists of tools: what they weigh, who asked for them, and whether they went over the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from spanwise import hashing, semconv, sizes

Stdio = Callable[..., StdioServerParameters]

PAGES: dict[str | None, tuple[list[str], str | None]] = {
    None: (["a1", "a2"], "p2"),
    "p2": (["b1", "b2"], "p3"),
    "p3": (["c1", "c2"], None),
}


def tool(name: str) -> types.Tool:
    return types.Tool(
        name=name,
        description="Finds it.",
        input_schema={"type": "object", "properties": {"key": {"type": "string", "description": "Which."}}},
    )


def listing(**hints: Any) -> Server[Any]:
    async def listed(_ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        names, following = PAGES[params.cursor if params else None]
        return types.ListToolsResult(tools=[tool(name) for name in names], next_cursor=following)

    async def call(_ctx: Any, _params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    return Server("paged", on_list_tools=listed, on_call_tool=call, **hints)


def client_spans(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    found = [span for span in exporter.get_finished_spans() if span.name == name and span.kind is SpanKind.CLIENT]
    return sorted(found, key=lambda span: span.start_time or 0)


def values(spans: list[ReadableSpan], name: str) -> list[Any]:
    return [(span.attributes or {}).get(name) for span in spans]


async def test_every_page_is_a_span_with_its_cursor(exporter: InMemorySpanExporter) -> None:
    async with Client(listing()) as client:
        page = await client.list_tools()
        while page.next_cursor:
            page = await client.list_tools(cursor=page.next_cursor)
    spans = client_spans(exporter, "tools/list")
    assert values(spans, semconv.TOOLS_NAMES) == [("a1", "a2"), ("b1", "b2"), ("c1", "c2")]
    assert values(spans, semconv.TOOLS_COUNT) == [2, 2, 2]
    assert values(spans, semconv.MCP_CURSOR) == [None, hashing.hashed("p2"), hashing.hashed("p3")]
    assert values(spans, semconv.MCP_MORE_PAGES) == [True, True, False]
    assert values(spans, semconv.MCP_HIDDEN) == [False, False, False]


async def test_list_says_what_the_definitions_weigh(exporter: InMemorySpanExporter) -> None:
    async with Client(listing()) as client:
        page = await client.list_tools()
    (span,) = client_spans(exporter, "tools/list")
    definitions = [item.model_dump(by_alias=True, mode="json", exclude_none=True) for item in page.tools]
    nbytes = sizes.json_bytes(definitions)
    found = span.attributes or {}
    assert found[semconv.TOOLS_BYTES] == nbytes
    assert found[semconv.TOOLS_TOKENS] == sizes.tokens(nbytes)
    assert found[semconv.TOOLS_SIZES] == tuple(sizes.json_bytes(item) for item in definitions)
    assert found[semconv.TOOLS_DESCRIPTION_BYTES] == 2 * len("Finds it.Which.")
    assert found[semconv.HASH_KEY_ID] == hashing.key_id()


async def test_order_of_tools_changes_one_hash_only(exporter: InMemorySpanExporter) -> None:
    names = [["x", "y"], ["y", "x"]]

    async def listed(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool(name) for name in names.pop()])

    async with Client(Server("moody", on_list_tools=listed)) as client:
        await client.list_tools()
        await client.list_tools()
    spans = client_spans(exporter, "tools/list")
    assert len(set(values(spans, semconv.TOOLS_NAMES_HASH))) == 1
    assert len(set(values(spans, semconv.TOOLS_ORDER_HASH))) == 2


async def test_hidden_list_is_listing_time_inside_the_call(exporter: InMemorySpanExporter) -> None:
    server = MCPServer("shop")

    @server.tool(structured_output=False)
    def ok() -> str:
        return "fine"

    async def delayed(ctx: Any, call_next: Any) -> Any:
        if ctx.method == "tools/list":
            await anyio.sleep(0.3)
        return await call_next(ctx)

    server.middleware.append(delayed)
    async with Client(server, mode="legacy") as client:
        await asyncio.gather(*(client.call_tool("ok") for _ in range(3)))
    lists, calls = client_spans(exporter, "tools/list"), client_spans(exporter, "tools/call ok")
    assert values(lists, semconv.MCP_HIDDEN) == [True] * len(lists)
    assert len(calls) == 3
    parents = {span.context.span_id: span for span in calls if span.context}
    for hidden in lists:
        assert hidden.parent is not None
        call = parents[hidden.parent.span_id]
        assert (call.start_time or 0) <= (hidden.start_time or 0)
        assert (hidden.end_time or 0) <= (call.end_time or 0)
        assert (hidden.end_time or 0) - (hidden.start_time or 0) >= 300_000_000
        assert (call.attributes or {})[semconv.MCP_VALIDATION_TIME] < 0.3  # type: ignore[operator]


async def test_list_from_the_clients_cache_is_marked(exporter: InMemorySpanExporter) -> None:
    hints = {"tools/list": CacheHint(ttl_ms=60_000, scope="public")}
    async with Client(listing(cache_hints=hints)) as client:
        first = await client.list_tools()
        second = await client.list_tools()
    assert first == second
    spans = client_spans(exporter, "tools/list")
    assert values(spans, semconv.MCP_CACHE_HIT) == [False, True]
    assert values(spans, semconv.MCP_TTL_MS) == [60_000, 60_000]
    assert values(spans, semconv.MCP_CACHE_SCOPE) == ["public", "public"]
    assert values(spans, semconv.TOOLS_NAMES_HASH)[0] == values(spans, semconv.TOOLS_NAMES_HASH)[1]
    assert values(spans, semconv.MCP_CONNECTION_ID)[0] == values(spans, semconv.MCP_CONNECTION_ID)[1]
    assert values(spans, semconv.JSONRPC_REQUEST_ID)[1] is None
    (close,) = client_spans(exporter, "mcp.close paged")
    assert (close.attributes or {})[semconv.MCP_SESSION_REQUESTS] == 2


async def test_calls_carry_the_annotations_of_a_list_seen_before(exporter: InMemorySpanExporter) -> None:
    server = MCPServer("shop")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=False))
    def look() -> str:
        return "seen"

    async with Client(server) as client:
        await client.list_tools()
        await client.call_tool("look")
    (call,) = client_spans(exporter, "tools/call look")
    names = (semconv.TOOL_READ_ONLY, semconv.TOOL_IDEMPOTENT, semconv.TOOL_DESTRUCTIVE)
    assert [(call.attributes or {}).get(name) for name in names] == [True, False, None]


async def test_other_lists_say_how_many(exporter: InMemorySpanExporter) -> None:
    server = MCPServer("shop")

    @server.prompt()
    def greet() -> str:
        return "hello"

    async with Client(server) as client:
        await client.list_prompts()
        await client.list_resources()
        await client.get_prompt("greet")
    (prompts,) = client_spans(exporter, "prompts/list")
    (resources,) = client_spans(exporter, "resources/list")
    (prompt,) = client_spans(exporter, "prompts/get greet")
    assert values([prompts, resources], semconv.MCP_ITEMS) == [1, 0]
    assert (prompt.attributes or {})[semconv.GEN_AI_PROMPT_NAME] == "greet"
    assert (prompt.attributes or {})[semconv.MCP_RESULT_BYTES] > 0  # type: ignore[operator]
