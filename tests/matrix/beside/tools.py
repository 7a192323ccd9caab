"""What an agent does with the mcp SDK of either generation, and what it can see of it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import mcp
from mcp.client import streamable_http
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.matrix.beside import neighbours

Record = list[str]


def works(neighbour: str, arm: str) -> Mapping[str, Any]:
    """Sessions with a server over each transport, by name."""
    return {
        "mcp-stdio": _Session(partial(_stdio, neighbour, arm)),
        "mcp-http": _Session(partial(over_http, os.environ["MCP_URL"])),
    }


class _Session:
    """Connect, list, call a tool that works and one that fails, close."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect

    async def __call__(self, record: Record) -> None:
        async with self._connect() as session:
            listed = await session.list_tools()
            record.append(f"{type(listed).__qualname__} {[tool.name for tool in listed.tools]}")
            for name, arguments in (("ok", {"order": "A-17"}), ("bad", {}), ("missing", {})):
                result = await session.call_tool(name, arguments)
                record.append(f"{type(result).__qualname__} {result.model_dump_json(exclude={'meta'})}")


def _stdio(neighbour: str, arm: str) -> Any:
    words = [*neighbours.command(arm), "tests.matrix.beside.server", neighbour, arm, "stdio"]
    parameters = StdioServerParameters(
        command=words[0], args=words[1:], env={**os.environ, "OTEL_SERVICE_NAME": "tools"}
    )
    return connect(parameters, lambda: stdio_client(parameters))


def over_http(url: str) -> Any:
    """A session with a server over streamable HTTP, by the newest means of this SDK."""
    ways: Any = streamable_http  # the older name is gone from 2.x, the newer one came with 1.24
    open_http = getattr(ways, "streamable_http_client", None) or ways.streamablehttp_client
    return connect(url, lambda: open_http(url))


@asynccontextmanager
async def connect(target: Any, transport: Callable[[], Any] | None = None) -> AsyncIterator[Any]:
    """A session with a server, by the newest means of this SDK; without a transport the target is a program."""
    if hasattr(mcp, "Client"):
        async with mcp.Client(target) as client:
            yield client
        return
    opened = stdio_client(target) if transport is None else transport()
    async with opened as streams, mcp.ClientSession(*streams[:2]) as session:
        await session.initialize()
        yield session
