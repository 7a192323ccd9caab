"""An MCP server of FastMCP: its tools run inside the turn of whoever calls them."""

from fastmcp import FastMCP

import spanwise

spanwise.instrument(service_name="orders")

server = FastMCP("orders")


@server.tool
def lookup_order(order_id: str) -> str:
    """Tell the state of one order."""
    with spanwise.stage("retrieval"):  # a part of the tool's work that should be seen by itself
        states = {"A-17": "shipped", "A-18": "on its way back"}
    return states.get(order_id, "unknown")


if __name__ == "__main__":
    server.run(show_banner=False)  # over stdio; server.run(transport="http") serves HTTP
