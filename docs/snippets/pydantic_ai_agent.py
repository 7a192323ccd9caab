"""A Pydantic AI agent with an MCP server."""

import asyncio
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

import spanwise

spanwise.instrument(service_name="support-agent")

agent = Agent("openai-chat:gpt-5-mini", toolsets=[MCPToolset(Path(__file__).with_name("orders.py"))])


async def main() -> None:
    """One conversation of one turn."""
    with spanwise.conversation("c-42", user="u-7"), spanwise.turn():
        async with agent:  # one connection for the whole turn
            result = await agent.run("Where is my order A-17?")
        print(result.output)
        spanwise.outcome(passed=True)


asyncio.run(main())
