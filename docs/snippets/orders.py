"""An MCP server of the ``mcp`` SDK: its tools run inside the turn of whoever calls them."""

import spanwise

try:
    from mcp.server.mcpserver import MCPServer  # mcp 2.x
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer  # mcp 1.x

spanwise.instrument(service_name="orders")

server = MCPServer("orders")


@server.tool()
def lookup_order(order_id: str) -> str:
    """Tell the state of one order."""
    with spanwise.stage("retrieval"):  # a part of the tool's work that should be seen by itself
        states = {"A-17": "shipped", "A-18": "on its way back"}
    return states.get(order_id, "unknown")


if __name__ == "__main__":
    server.run()  # over stdio; server.run(transport="streamable-http") serves HTTP
