"""The shop behind HTTP: its ASGI application on every SDK line, served on a port of the system's choice."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn


def application(server: Any, *, as_json: bool = False, stateless: bool = False) -> Any:
    """The application of a server of the low layer."""
    if hasattr(server, "streamable_http_app"):  # 2.x answers its newest protocol only there
        return server.streamable_http_app(json_response=as_json, stateless_http=stateless)
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.routing import Mount

    sessions: Any = StreamableHTTPSessionManager(server, json_response=as_json, stateless=stateless)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    return Starlette(routes=[Mount("/", app=sessions.handle_request)], lifespan=lifespan)


@contextlib.asynccontextmanager
async def listening(app: Any) -> AsyncIterator[str]:
    """The URL of ``app``, which is served by this loop for the length of the block."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await task


@dataclass(slots=True)
class Request:
    """One HTTP request with a message in it."""

    headers: dict[str, str]
    message: dict[str, Any]

    @property
    def meta(self) -> dict[str, Any]:
        """What the message says about itself."""
        found: dict[str, Any] = (self.message.get("params") or {}).get("_meta") or {}
        return found


@dataclass(slots=True)
class Recorder:
    """Keeps the requests that pass to ``app``; their messages lose what they say of their trace where wanted."""

    app: Any
    silent: bool = False
    requests: list[Request] = field(default_factory=list)

    def of(self, method: str) -> list[Request]:
        """Those whose message has this method."""
        return [request for request in self.requests if request.message.get("method") == method]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """As the application."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body = await read(receive)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        request = Request(headers, json.loads(body))
        self.requests.append(request)
        if self.silent:
            for name in ("traceparent", "tracestate", "baggage"):
                request.meta.pop(name, None)
        body = json.dumps(request.message).encode()
        parts = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def again() -> Any:
            return next(parts, None) or await receive()

        await self.app(scope, again, send)


async def read(receive: Any) -> bytes:
    """The whole body of a request."""
    body: bytes = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            return body
