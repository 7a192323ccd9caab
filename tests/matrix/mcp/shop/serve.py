"""Runs the shop's server: ``serve.py LAYER TRANSPORT [traced]``; over HTTP it prints its port first."""

from __future__ import annotations

import logging
import signal
import socket
import sys
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
from tests.matrix.mcp.shop.sdk import build  # noqa: E402
from tests.matrix.mcp.shop.web import application  # noqa: E402


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
    app = application(server, as_json=as_json, stateless=stateless)
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)).run(sockets=[listener])


if __name__ == "__main__":
    made = lowest(build(LAYER))
    logging.disable()
    if "spanwise" in sys.modules:
        # Web servers, and the clients of 1.9, end it by this signal; it shall end as programs do, and send its spans.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    if TRANSPORT == "stdio":
        anyio.run(over_stdio, made)
    else:
        over_http(made, as_json=TRANSPORT == "http-json", stateless=TRANSPORT == "http-stateless")
