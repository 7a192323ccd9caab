"""The MCP server without any instrumentation, over stdio."""

from __future__ import annotations

from tests.matrix.beside.server import build

if __name__ == "__main__":
    build().run()
