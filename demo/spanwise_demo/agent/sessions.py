"""The agent's MCP sessions: opened when its behaviour says so, with the catalogue each server listed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from mcp import Client, StdioServerParameters
from mcp_types import Tool

Address = StdioServerParameters | str


@dataclass(slots=True)
class Session:
    """An open session and the tools its server listed."""

    client: Client
    tools: Sequence[Tool]

    async def relist(self) -> None:
        """Asks the server again, whatever its last answer said about how long it holds."""
        self.tools = (await self.client.list_tools(cache_mode="refresh")).tools


Open = Mapping[str, Session]


@asynccontextmanager
async def session(address: Address, mode: str = "auto") -> AsyncIterator[Session]:
    """One session with its catalogue, closed on the way out."""
    async with Client(address, mode=mode) as client:
        yield Session(client, (await client.list_tools()).tools)


@asynccontextmanager
async def sessions(addresses: Mapping[str, Address], modes: Mapping[str, str] | None = None) -> AsyncIterator[Open]:
    """Sessions to all of these servers, by name."""
    async with AsyncExitStack() as stack:
        chosen = modes or {}
        yield {
            name: await stack.enter_async_context(session(address, chosen.get(name, "auto")))
            for name, address in addresses.items()
        }
