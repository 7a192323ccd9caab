"""What a tool call says: what went in, what came out, what the client did around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Context, MCPServer
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from pydantic import BaseModel

import spanwise
from spanwise import content, hashing, semconv, sizes
from spanwise.mcp import toolcall


class Sure(BaseModel):
    """What the server wants to know."""

    yes: bool


def attributes(exporter: InMemorySpanExporter, name: str, kind: SpanKind = SpanKind.CLIENT) -> list[Mapping[str, Any]]:
    spans = [span for span in exporter.get_finished_spans() if span.name == name and span.kind is kind]
    return [span.attributes or {} for span in spans]


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def shop() -> MCPServer:
    made = MCPServer("shop")

    @made.tool()
    def find(order: str) -> dict[str, str]:
        return {"order": order, "status": "shipped"}

    return made


async def test_call_on_both_sides(exporter: InMemorySpanExporter) -> None:
    async with Client(shop()) as client:
        result = await client.call_tool("find", {"order": "A-4711"})
    wire = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    shown = {"content": wire["content"], "structuredContent": wire["structuredContent"]}
    expected = {
        semconv.MCP_METHOD_NAME: "tools/call",
        semconv.GEN_AI_OPERATION_NAME: "execute_tool",
        semconv.GEN_AI_TOOL_NAME: "find",
        semconv.TOOL_ARGS_BYTES: len('{"order":"A-4711"}'),
        semconv.TOOL_ARGS_HASH: hashing.hashed('{"order":"A-4711"}'),
        semconv.TOOL_ARGS_LEAVES: (hashing.hashed("A-4711"),),
        semconv.TOOL_RESULT_BYTES: sizes.json_bytes(shown),
        semconv.TOOL_RESULT_TYPES: ("text",),
        semconv.TOOL_RESULT_LEAVES: (hashing.hashed("A-4711"), hashing.hashed("shipped")),
        semconv.TOOL_DUPLICATE_BYTES: sizes.json_bytes(shown["structuredContent"]),
        semconv.TOOL_IS_ERROR: False,
        semconv.MCP_RESULT_TYPE: "complete",
        semconv.HASH_KEY_ID: hashing.key_id(),
        semconv.JSONRPC_REQUEST_ID: "2",
    }
    (sent,) = attributes(exporter, "tools/call find")
    (handled,) = attributes(exporter, "tools/call find", SpanKind.SERVER)
    assert expected == {name: sent.get(name) for name in expected}
    # The client's span is in the same process and says it all; twice would cost the caller twice.
    named = (semconv.MCP_METHOD_NAME, semconv.GEN_AI_OPERATION_NAME, semconv.GEN_AI_TOOL_NAME)
    assert {name: expected[name] for name in named} == {name: handled.get(name) for name in named}
    assert semconv.TOOL_ARGS_BYTES not in handled


async def test_call_id_of_the_model_is_taken_from_the_span_around(exporter: InMemorySpanExporter) -> None:
    async with Client(shop()) as client:
        await client.call_tool("find", {"order": "A-1"})
        with spanwise.tool("find", call_id="call_7"):
            await client.call_tool("find", {"order": "A-2"})
    found = attributes(exporter, "tools/call find")
    assert [call.get(semconv.GEN_AI_TOOL_CALL_ID) for call in found] == [None, "call_7"]


async def test_content_is_left_out_unless_asked_for(exporter: InMemorySpanExporter) -> None:
    async with Client(shop()) as client:
        await client.call_tool("find", {"order": "A-4711"})
        content.capture(on=True)
        await client.call_tool("find", {"order": "A-4712"})
        content.capture(on=False)
    silent, open_ = attributes(exporter, "tools/call find")
    assert "A-4711" not in str(silent)
    assert open_[semconv.GEN_AI_TOOL_CALL_ARGUMENTS] == '{"order":"A-4712"}'
    assert "shipped" in open_[semconv.GEN_AI_TOOL_CALL_RESULT]


def test_same_arguments_in_another_order_hash_alike() -> None:
    one = toolcall.request("tools/call", {"arguments": {"a": 1, "b": 2}})
    other = toolcall.request("tools/call", {"arguments": {"b": 2, "a": 1}})
    assert one == other


@pytest.mark.parametrize(
    ("blocks", "structured", "twice"),
    [
        ([text('{ "n": 1 }')], {"n": 1}, True),
        ([text("hello")], {"result": "hello"}, True),
        ([text("1"), text("2")], {"result": [1, 2]}, True),
        ([text("1")], {"result": [1]}, True),
        ([text("one of them")], {"n": 1}, False),
        ([], {"n": 1}, False),
        ([text("[]")], None, False),
    ],
)
def test_structured_part_that_repeats_the_text(blocks: list[Any], structured: Any, twice: bool) -> None:  # noqa: FBT001
    result = {"content": blocks} | ({} if structured is None else {"structuredContent": structured})
    assert toolcall.duplicate_bytes(result) == (sizes.json_bytes(structured) if twice else 0)


def test_words_of_a_plain_answer_are_values_that_may_be_passed_on() -> None:
    found = toolcall.answer("tools/call", {"content": [text("parcel 4711 is with DHL")]})
    expected = [hashing.hashed(word) for word in ("parcel", "4711", "with", "DHL")]
    assert found[semconv.TOOL_RESULT_LEAVES] == expected


async def test_progress_is_counted_and_handed_on(exporter: InMemorySpanExporter) -> None:
    server, seen = MCPServer("shop"), []

    @server.tool(structured_output=False)
    async def work(ctx: Context) -> str:
        await ctx.report_progress(1, 2)
        await ctx.report_progress(2, 2)
        return "done"

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with Client(server) as client:
        await client.call_tool("work", progress_callback=progressed)
    (call,) = attributes(exporter, "tools/call work")
    assert (call[semconv.MCP_PROGRESS_COUNT], seen) == (2, [(1, 2, None), (2, 2, None)])


async def test_every_round_is_a_request_of_its_own(exporter: InMemorySpanExporter) -> None:
    async def listed(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="ask", input_schema={"type": "object"})])

    async def call(_ctx: Any, params: types.CallToolRequestParams) -> Any:
        if params.input_responses:
            return types.CallToolResult(content=[])
        form = types.ElicitRequestFormParams(message="sure?", requested_schema={"type": "object", "properties": {}})
        return types.InputRequiredResult(input_requests={"sure": types.ElicitRequest(params=form)}, request_state="s")

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    server = Server("asking", on_list_tools=listed, on_call_tool=call)
    async with Client(server, elicitation_callback=answer) as client:
        await client.list_tools()
        await client.call_tool("ask")
    rounds = attributes(exporter, "tools/call ask")
    assert [found[semconv.MCP_ROUNDS] for found in rounds] == [1, 2]
    assert [found[semconv.MCP_RESULT_TYPE] for found in rounds] == ["input_required", "complete"]


async def test_server_that_asks_its_client_has_a_client_span(exporter: InMemorySpanExporter) -> None:
    server = MCPServer("asking")

    @server.tool(structured_output=False)
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("sure?", Sure)
        return answer.action

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async with Client(server, mode="legacy", elicitation_callback=answer) as client:
        await client.call_tool("ask")
    spans = exporter.get_finished_spans()
    (asked,) = [span for span in spans if span.name == "elicitation/create"]
    (handled,) = [span for span in spans if span.name == "tools/call ask" and span.kind is SpanKind.SERVER]
    assert asked.kind is SpanKind.CLIENT
    assert (asked.parent, (asked.attributes or {}).get(semconv.MCP_CONNECTION_ID)) == (handled.context, None)
