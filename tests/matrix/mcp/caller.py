"""One way to call the shop on every SDK line: opened over any transport, then a method per operation."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from tests.matrix.mcp.shop.sdk import MODERN, VERSION

Heard = Callable[[Any], None]


class Caller:
    """An open session; the SDK's own results and errors come out of every method."""

    def __init__(self, session: Any) -> None:
        self.session = session

    async def page(self, cursor: str | None) -> Any:
        """One page of the tools."""
        return await (self.session.list_tools(cursor=cursor) if cursor else self.session.list_tools())

    async def call(self, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
        """A tool call; ``timeout`` in seconds."""
        timeout = options.pop("timeout", None)
        if timeout is not None:
            options["read_timeout_seconds"] = timeout if MODERN else timedelta(seconds=timeout)
        return await self.session.call_tool(name, arguments, **options)

    async def read(self, uri: str) -> Any:
        """A resource."""
        return await self.session.read_resource(uri if MODERN else importlib.import_module("pydantic").AnyUrl(uri))

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        """A prompt."""
        return await self.session.get_prompt(name, arguments)


@asynccontextmanager
async def opened(place: Any, mode: str, heard: Heard) -> AsyncIterator[Caller]:
    """A caller of the server at ``place``: parameters of a process, a URL, or a server of this process."""

    async def hear(message: Any) -> None:
        heard(message)

    async with (_modern if MODERN else _legacy)(place, mode, hear) as session:
        yield Caller(session)


@asynccontextmanager
async def _modern(place: Any, mode: str, hear: Any) -> AsyncIterator[Any]:
    mcp: Any = importlib.import_module("mcp")
    if isinstance(place, mcp.StdioServerParameters) and VERSION < (2, 1):  # which does not start processes by itself
        place = transport(place)
    async with mcp.Client(place, mode=mode, message_handler=hear) as client:
        yield client


@asynccontextmanager
async def _legacy(place: Any, _mode: str, hear: Any) -> AsyncIterator[Any]:
    mcp: Any = importlib.import_module("mcp")
    if not isinstance(place, str | mcp.StdioServerParameters):
        memory: Any = importlib.import_module("mcp.shared.memory")
        lowest = getattr(place, "_mcp_server", place)
        async with memory.create_connected_server_and_client_session(lowest, message_handler=hear) as session:
            yield session
        return
    async with transport(place) as (read, write, *_), mcp.ClientSession(read, write, message_handler=hear) as session:
        await session.initialize()
        yield session


def transport(place: Any) -> Any:
    """The transport to a process or a URL, as programs open it that build their sessions themselves."""
    if not isinstance(place, str):
        return importlib.import_module("mcp.client.stdio").stdio_client(place)
    module: Any = importlib.import_module("mcp.client.streamable_http")
    newest = getattr(module, "streamable_http_client", None)
    return newest(place) if newest is not None else module.streamablehttp_client(place)
