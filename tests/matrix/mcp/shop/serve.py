"""Runs the shop's server: ``serve.py LAYER TRANSPORT [traced]``; over HTTP it prints its port first."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))

LAYER, TRANSPORT = sys.argv[1:3]

if "traced" in sys.argv[3:]:
    import spanwise

    spanwise.instrument("shop")

import anyio  # noqa: E402 - instrumented first, as a user would
import uvicorn  # noqa: E402
from mcp.server.stdio import stdio_server  # noqa: E402
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: E402
from starlette.applications import Starlette  # noqa: E402
from starlette.routing import Mount  # noqa: E402
from tests.matrix.mcp.shop.sdk import build  # noqa: E402


def lowest(server: Any) -> Any:
    """The object that speaks the protocol below any convenience."""
    for name in ("_mcp_server", "_lowlevel_server"):
        server = getattr(server, name, server)
    return server


async def over_stdio(server: Any) -> None:
    """Serve whoever started us."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def over_http(server: Any, *, as_json: bool, stateless: bool) -> None:
    """Serve on a port of the system's choice."""
    if hasattr(server, "streamable_http_app"):  # 2.x answers its newest protocol only there
        app = server.streamable_http_app(json_response=as_json, stateless_http=stateless)
    else:
        app = application(StreamableHTTPSessionManager(server, json_response=as_json, stateless=stateless))
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)).run(sockets=[listener])


def application(sessions: Any) -> Starlette:
    """The ASGI application of 1.x."""

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    return Starlette(routes=[Mount("/", app=sessions.handle_request)], lifespan=lifespan)


if __name__ == "__main__":
    made = lowest(build(LAYER))
    logging.disable()
    # The oldest clients stop a server by this signal, and a web server hands it on: the program shall end as programs
    # do, and send its spans.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    if TRANSPORT == "stdio":
        anyio.run(over_stdio, made)
    else:
        over_http(made, as_json=TRANSPORT == "http-json", stateless=TRANSPORT == "http-stateless")
