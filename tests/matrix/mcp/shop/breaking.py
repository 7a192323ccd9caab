"""A hand-made HTTP server whose answers break off in the middle and must be fetched once more."""

from __future__ import annotations

import json
from typing import Any

from tests.matrix.mcp.shop.web import read

_VERSION = "2025-11-25"
_GREETING = {"protocolVersion": _VERSION, "capabilities": {}, "serverInfo": {"name": "breaking", "version": "1"}}


class Breaking:
    """Answers a tool call by a stream that ends before the answer, ``times`` times."""

    def __init__(self, times: int) -> None:
        self._left = times
        self._asked: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """As an ASGI application."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["method"] == "POST":
            await self._posted(json.loads(await read(receive)), send)
        elif scope["method"] == "GET" and b"last-event-id" in dict(scope["headers"]):
            await self._streamed(send)
        else:
            await _respond(send, 405 if scope["method"] == "GET" else 200)

    async def _posted(self, message: dict[str, Any], send: Any) -> None:
        if "id" not in message:
            await _respond(send, 202)
        elif message["method"] == "tools/call":
            self._asked = message["id"]
            await self._streamed(send)
        else:
            result = _GREETING if message["method"] == "initialize" else {"tools": []}
            await _respond(send, 200, "application/json", json.dumps(_answer(message["id"], result)))

    async def _streamed(self, send: Any) -> None:
        if self._left:
            self._left -= 1
            await _respond(send, 200, "text/event-stream", "id: 1\nretry: 10\ndata: \n\n")
            return
        data = json.dumps(_answer(self._asked, {"content": [{"type": "text", "text": "at last"}]}))
        await _respond(send, 200, "text/event-stream", f"id: 2\nevent: message\ndata: {data}\n\n")


def _answer(request: Any, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request, "result": result}


async def _respond(send: Any, status: int, kind: str = "text/plain", body: str = "") -> None:
    headers = [(b"content-type", kind.encode()), (b"mcp-session-id", b"s-1")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})


async def _live(receive: Any, send: Any) -> None:
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})
