"""An MCP server for both SDK generations: over stdio, or with "http" over streamable HTTP on a port that it prints."""

from __future__ import annotations

import importlib
import socket
import sys
import threading
from typing import Any

from tests.matrix.beside import neighbours


def build() -> Any:
    """A server with one tool that works and one that fails."""
    made = _kind()("tools")

    def ok(order: str) -> str:
        """Answers."""
        return f"order {order}"

    def bad() -> str:
        """Fails."""
        raise ValueError("no such order")

    for function in (ok, bad):
        made.tool()(function)
    return made


def _kind() -> Any:
    try:
        return importlib.import_module("mcp.server.mcpserver").MCPServer
    except ModuleNotFoundError:
        return importlib.import_module("mcp.server.fastmcp").FastMCP


def main(neighbour: str, arm: str, transport: str) -> None:
    """Serve until the client has gone or the process is stopped."""
    neighbours.set_up(neighbour, arm)
    server = build()
    if transport == "stdio":
        server.run()
        return
    uvicorn = importlib.import_module("uvicorn")
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    running = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error"))
    threading.Thread(target=_stop_with_input, args=(running,), daemon=True).start()
    running.run(sockets=[listener])


def _stop_with_input(running: Any) -> None:
    # After a signal uvicorn dies of it, and what is queued for export with it.
    sys.stdin.read()
    running.should_exit = True


if __name__ == "__main__":
    main(*sys.argv[1:])
