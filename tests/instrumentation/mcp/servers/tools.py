"""An instrumented MCP server: over stdio, or with "http" over streamable HTTP on a port that it prints."""

from __future__ import annotations

import os
import socket
import sys

import spanwise

spanwise.instrument("tools")

import uvicorn  # noqa: E402 - instrumented first, as a user would
from mcp.server.mcpserver import MCPServer  # noqa: E402
from opentelemetry import trace  # noqa: E402

server = MCPServer("tools", version="1.2.3")


@server.tool(structured_output=False)
def ok(order: str = "A-4711") -> str:
    """Answers."""
    with trace.get_tracer("work").start_as_current_span("work"):
        return f"order {order}"


@server.tool()
def die() -> str:
    """Ends the whole process before it answers."""
    os._exit(3)


def main() -> None:
    """Serve until the client has gone or the process is stopped."""
    if sys.argv[1:] != ["http"]:
        server.run()
        return
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
