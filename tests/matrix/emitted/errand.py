"""The agent that every recording shows: two turns, model calls whole and streamed, four tools, an embedding.

The first turn opens an MCP server over stdio and one over HTTP, embeds the question and asks the first server and a
function; the second asks the other server and a function that fails, and closes both.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from opentelemetry import trace
from tests.matrix.emitted import tracers
from tests.matrix.emitted.logbook import noted
from tests.matrix.emitted.tracers import Tracer

MODEL = "local-small"
EMBEDDER = "local-embedder"
ORDER = "R-123456"
QUESTIONS = (f"What does order {ORDER} weigh?", f"Print the label of order {ORDER}.")
INSTRUCTIONS = (
    "Use `get_order`, then `weigh_parcel`. Answer in about 12 words.",
    "Use `count_stock`, then `print_label`. Answer in about 30 words.",
)
WEIGHING_MS = 40
PRINTING_MS = 30
FUNCTION_PARAMETERS = {
    "type": "object",
    "properties": {"order_id": {"type": "string", "pattern": r"^R-\d{6}$"}},
    "required": ["order_id"],
}
Call = Callable[[Mapping[str, Any]], Awaitable[str]]


async def weigh_parcel(order_id: str) -> str:
    """Weigh the parcel of an order."""
    with noted("local"):
        await asyncio.sleep(WEIGHING_MS / 1000)
        return f"{order_id}: 1.2 kg"


async def print_label(order_id: str) -> str:
    """Print the label of an order."""
    with noted("local"):
        await asyncio.sleep(PRINTING_MS / 1000)
        raise RuntimeError(f"{order_id}: the printer has no paper")


@dataclass(frozen=True, slots=True)
class Tool:
    """What the model is offered, and what happens when it calls."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Call

    def offer(self) -> dict[str, Any]:
        """As the chat API wants it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


async def errand(tracer: Tracer, conversation: str) -> None:
    """Run both turns; what it needs is loaded before the first, as in a program that has been up for a while."""
    from openai import AsyncOpenAI
    from tests.matrix.beside import tools as _loaded  # noqa: F401

    async with AsyncOpenAI(max_retries=0) as client, AsyncExitStack() as stack:
        with tracer.turn(conversation):
            tools = await _tools(stack, tracer)
            await client.embeddings.create(model=EMBEDDER, input=QUESTIONS[0])
            await _answer(client, 0, tools, stream=False)
        with tracer.turn(conversation):
            await _answer(client, 1, tools, stream=True)
            await stack.aclose()


async def _tools(stack: AsyncExitStack, tracer: Tracer) -> list[Tool]:
    found = [_function(function, tracer.tool(function)) for function in (weigh_parcel, print_label)]
    for opened in _sessions():
        session = await stack.enter_async_context(opened)
        found += [_remote(session, tool) for tool in (await session.list_tools()).tools]
    return found


def _sessions() -> list[Any]:
    from mcp import StdioServerParameters
    from tests.matrix.beside.tools import connect, over_http

    command = json.loads(os.environ["ORDERS_COMMAND"])
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    return [connect(parameters), over_http(os.environ["STOCK_URL"])]


def _function(function: tracers.Function, traced: tracers.Function) -> Tool:
    return Tool(function.__name__, function.__doc__ or "", FUNCTION_PARAMETERS, lambda found: traced(**found))


def _remote(session: Any, tool: Any) -> Tool:
    async def call(arguments: Mapping[str, Any]) -> str:
        result = await session.call_tool(tool.name, dict(arguments))
        return "\n".join(item.text for item in result.content)

    schema = getattr(tool, "input_schema", None) or tool.inputSchema
    return Tool(tool.name, tool.description or "", schema, call)


async def _answer(client: Any, turn: int, tools: list[Tool], *, stream: bool) -> None:
    messages: list[Any] = [
        {"role": "system", "content": INSTRUCTIONS[turn]},
        {"role": "user", "content": QUESTIONS[turn]},
    ]
    request = {"model": MODEL, "messages": messages, "tools": [tool.offer() for tool in tools]}
    by_name = {tool.name: tool for tool in tools}
    while True:
        said = await (_streamed(client, request) if stream else _whole(client, request))
        messages.append(said)
        if "tool_calls" not in said:
            return
        for wanted in said["tool_calls"]:
            result = await _called(by_name[wanted["function"]["name"]], wanted["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": wanted["id"], "content": result})


async def _called(tool: Tool, arguments: str) -> str:
    try:
        return await tool.call(json.loads(arguments))
    except RuntimeError as error:
        return f"failed: {error}"


async def _whole(client: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    return _said(await client.chat.completions.create(**request))


async def _streamed(client: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    from openai.lib.streaming.chat import ChatCompletionStreamState

    options = {"stream": True, "stream_options": {"include_usage": True}}
    state = ChatCompletionStreamState()
    async for chunk in await client.chat.completions.create(**request, **options):
        state.handle_chunk(chunk)
    return _said(state.get_final_completion())


def _said(answer: Any) -> dict[str, Any]:
    message = answer.choices[0].message
    said: dict[str, Any] = {"role": "assistant", "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [_wanted(call) for call in message.tool_calls]
    return said


def _wanted(call: Any) -> dict[str, Any]:
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}


def main(names: str, conversation: str) -> None:
    """Run the errand traced by these, and send all spans."""
    chosen = names.split("+")
    tracers.set_up(chosen, service="agent")
    asyncio.run(errand(tracers.ALL[chosen[0]], conversation))
    provider: Any = trace.get_tracer_provider()
    provider.force_flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
