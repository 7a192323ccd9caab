"""A model call that reads results of tools is linked to the spans that it waited for, where all of them are known."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.instrumentation.model import ModelServer, Reply

import spanwise
from spanwise import semconv

ANSWER: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}],
}


def read_by_the_model(model: ModelServer, *call_ids: str) -> None:
    model.replies[:] = [Reply(ANSWER)]
    asked = [{"id": call_id, "type": "function", "function": {"name": "t", "arguments": "{}"}} for call_id in call_ids]
    messages: list[Any] = [{"role": "user", "content": "?"}, {"role": "assistant", "tool_calls": asked}]
    messages += [{"role": "tool", "tool_call_id": call_id, "content": "17"} for call_id in call_ids]
    with openai.OpenAI(base_url=model.url, api_key="k") as client:
        client.chat.completions.create(model="m", messages=messages)


def linked(exporter: InMemorySpanExporter) -> list[str]:
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans if span.context}
    (call,) = (span for span in spans if span.name == "chat m")
    assert all(dict(link.attributes or {}) == {semconv.LINK: semconv.LINK_WAITS_FOR} for link in call.links)
    return [names[link.context.span_id] for link in call.links]


def test_the_results_of_two_tools_are_waited_for(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    with spanwise.turn():
        for call_id, name in (("call_1", "find"), ("call_2", "count")):
            with spanwise.tool(name, call_id=call_id):
                pass
        read_by_the_model(model, "call_1", "call_2")
    assert ["execute_tool find", "execute_tool count"] == linked(exporter)


async def test_so_is_an_mcp_call_inside_of_one(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    server = MCPServer("shop")

    @server.tool()
    def find() -> str:
        return "17"

    async with Client(server) as client:
        with spanwise.turn():
            with spanwise.tool("find", call_id="call_1"):
                await client.call_tool("find", {})
            await asyncio.to_thread(read_by_the_model, model, "call_1")
    assert ["tools/call find"] == linked(exporter)


@pytest.mark.parametrize("others", [["call_2"], []])
def test_nothing_is_linked_where_one_of_them_ran_unseen(
    exporter: InMemorySpanExporter, model: ModelServer, others: list[str]
) -> None:
    with spanwise.turn(), spanwise.tool("find", call_id="call_1"):
        pass
    with spanwise.turn():  # another trace, whose calls may be numbered alike
        read_by_the_model(model, "call_1", *others)
    assert [] == linked(exporter)
