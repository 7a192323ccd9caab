"""The ``stock`` server over streamable HTTP: what is on the shelves; a return seldom asks it."""

from __future__ import annotations

import sys

import spanwise
from spanwise_demo.listen import listen
from spanwise_demo.servers.desk import Desk, OrderId, told
from spanwise_demo.servers.settings import Settings


def stock(settings: Settings) -> Desk:
    """The server with its tools."""
    desk = Desk("stock", settings)

    async def count_stock(order_id: OrderId) -> str:
        await desk.conduct.work("count_stock", order_id)
        return told({"order_id": order_id, "on_shelf": 12})

    desk.add(count_stock, "Replacements on the shelf.")
    return desk


if __name__ == "__main__":
    spanwise.instrument(service_name="stock")
    listen(stock(Settings.read(sys.argv[1:])).server.streamable_http_app(), "/mcp")
