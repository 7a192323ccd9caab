"""The OpenAI Agents SDK with an MCP server."""

import asyncio
import sys
from pathlib import Path

from agents import Agent, Runner
from agents.mcp import MCPServerStdio

import spanwise

spanwise.instrument(service_name="support-agent")

SERVER = {"command": sys.executable, "args": [str(Path(__file__).with_name("orders.py"))]}


async def main() -> None:
    """One conversation of one turn."""
    with spanwise.conversation("c-42", user="u-7"), spanwise.turn():
        async with MCPServerStdio(params=SERVER, cache_tools_list=True) as orders:
            agent = Agent("support", model="gpt-5-mini", mcp_servers=[orders])
            result = await Runner.run(agent, "Where is my order A-17?")
        print(result.final_output)
        spanwise.outcome(passed=True)


asyncio.run(main())
