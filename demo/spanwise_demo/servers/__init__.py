"""The shop's MCP servers: orders over stdio, logistics and stock over streamable HTTP."""
