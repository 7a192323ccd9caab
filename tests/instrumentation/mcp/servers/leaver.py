"""A program that ends while a tool call of its daemon thread is still waiting for an answer."""

from __future__ import annotations

import asyncio
import threading

import spanwise

spanwise.instrument("leaver")

from mcp import Client  # noqa: E402 - instrumented first, as a user would
from mcp.server.mcpserver import MCPServer  # noqa: E402

server = MCPServer("slow")
called = threading.Event()


@server.tool(structured_output=False)
async def hang() -> str:
    """Never answers."""
    called.set()
    await asyncio.Event().wait()
    return "never"


async def call() -> None:
    """Wait for an answer that does not come."""
    async with Client(server) as client:
        await client.call_tool("hang")


if __name__ == "__main__":
    threading.Thread(target=asyncio.run, args=(call(),), daemon=True).start()
    called.wait()
