"""Calls whose cost is measured: of the real SDKs, answered as fast as can be."""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import openai
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "gpt-5-2026-05-01",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Order 17 is on its way."}}
    ],
    "usage": {"prompt_tokens": 500, "completion_tokens": 7, "total_tokens": 507},
}
_WORDS = ("order", "status", "customer", "parcel", "delivered", "the", "of", "is", "12.50", "refund", "A-1417", "was")
WAIT = 0.03  # s: no model answers sooner, and what is done meanwhile keeps nobody waiting
_MODULE = "-mbenchmarks.calls"
_MESSAGE = 1000  # characters
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name.capitalize()} an order of the customer",
            "parameters": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
        },
    }
    for name in ("find", "cancel", "refund")
]


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds on the clock, of this thread's processor time, and of the whole process's."""

    wall: float
    thread: float
    process: float


class Clock:
    """Measures from its making on."""

    def __init__(self) -> None:
        self._start = _now()

    def took(self) -> Took:
        """So far."""
        return Took(*(now - then for now, then in zip(_now(), self._start, strict=True)))


def _now() -> tuple[float, float, float]:
    return time.perf_counter(), time.thread_time(), time.process_time()


class ModelCalls:
    """Chat completions with a history of about ``nbytes``; no text is sent twice, so that nothing can be remembered."""

    def __init__(self, nbytes: int, *, wait: float = WAIT) -> None:
        self._messages = max(1, nbytes // _MESSAGE)
        self._random = random.Random(nbytes)  # noqa: S311 - test data
        self._wait = wait
        transport = httpx2.MockTransport(self._answer)
        # Plain dicts, as agents write them, are not what the SDK's types want.
        self._client: Any = openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=transport))

    async def timed(self, calls: int) -> Took:
        """What ``calls`` calls take."""
        histories = [self._history() for _ in range(calls)]
        clock = Clock()
        for messages in histories:
            self._client.chat.completions.create(model="gpt-5", messages=messages, tools=_TOOLS)
        return clock.took()

    def _answer(self, _request: httpx2.Request) -> httpx2.Response:
        time.sleep(self._wait)
        return httpx2.Response(200, json=ANSWER)

    def _history(self) -> list[dict[str, Any]]:
        roles = ("user", "assistant")
        return [{"role": roles[number % 2], "content": self._text()} for number in range(self._messages)]

    def _text(self) -> str:
        return " ".join(self._random.choices(_WORDS, k=_MESSAGE // 6))


class McpCalls:
    """Calls of one small tool."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @classmethod
    @asynccontextmanager
    async def over(cls, transport: str) -> AsyncIterator[McpCalls]:
        """Calls of a server that is reached by ``transport``; stdio and http servers emit no spans themselves."""
        async with _client(transport) as client:
            await client.list_tools()
            yield cls(client)

    async def timed(self, calls: int) -> Took:
        """What ``calls`` calls take."""
        clock = Clock()
        for number in range(calls):
            await self._client.call_tool("find", {"order": f"A-{number}"})
        return clock.took()


def server() -> MCPServer:
    """A server with one tool that does nothing."""
    made = MCPServer("bench", log_level="ERROR")

    @made.tool()
    def find(order: str) -> str:
        """Find an order of the customer."""
        return f"Order {order} is on its way, it will be delivered tomorrow between 9 and 12."

    return made


@asynccontextmanager
async def _client(transport: str) -> AsyncIterator[Client]:
    if transport == "in-process":
        async with Client(server()) as client:
            yield client
    elif transport == "stdio":
        async with Client(StdioServerParameters(command=sys.executable, args=[_MODULE, transport])) as client:
            yield client
    else:
        process = await asyncio.create_subprocess_exec(sys.executable, _MODULE, transport, stdout=subprocess.PIPE)
        url = await process.stdout.readline()  # type: ignore[union-attr] # a pipe
        async with Client(url.decode().strip()) as client:
            yield client
        process.terminate()
        await process.wait()


def _serve(transport: str) -> None:
    if transport == "stdio":
        server().run("stdio")
        return
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server().streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    _serve(sys.argv[1])
