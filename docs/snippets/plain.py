"""A plain loop of the ``openai`` SDK with the tools of an MCP server."""

import asyncio
import json
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters
from openai import AsyncOpenAI

import spanwise

spanwise.instrument(service_name="support-agent")

SERVER = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("orders.py"))])


async def answer(model: AsyncOpenAI, orders: Client, question: str) -> str:
    """Ask the model until it needs no more tools."""
    listed = (await orders.list_tools()).tools
    tools = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        }
        for tool in listed
    ]
    messages = [{"role": "user", "content": question}]
    while True:
        async with model.chat.completions.stream(model="gpt-5-mini", messages=messages, tools=tools) as stream:
            message = (await stream.get_final_completion()).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]
        results = await asyncio.gather(*(orders.call_tool(name, arguments) for name, arguments in calls))
        for call, result in zip(message.tool_calls, results, strict=True):
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result.content[0].text})


async def main() -> None:
    """One conversation of one turn."""
    with spanwise.conversation("c-42", user="u-7"), spanwise.turn():
        async with AsyncOpenAI() as model, Client(SERVER) as orders:
            print(await answer(model, orders, "Where is my order A-17?"))
        spanwise.outcome(passed=True)


asyncio.run(main())
