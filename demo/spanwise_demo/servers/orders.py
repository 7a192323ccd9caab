"""The ``orders`` server over stdio: orders, permissions, coupons and policies of the shop."""

from __future__ import annotations

import sys

import spanwise
from spanwise_demo.servers import shop
from spanwise_demo.servers.desk import WRITE, CustomerId, Desk, OrderId, told
from spanwise_demo.servers.office import furnish
from spanwise_demo.servers.settings import Settings


def orders(settings: Settings) -> Desk:
    """The server with its tools."""
    desk = Desk("orders", settings)

    async def get_order(order_id: OrderId) -> str:
        await desk.conduct.work("get_order", order_id)
        return shop.whole_order(order_id, settings.order_kib) if settings.order_kib else told(shop.order(order_id))

    async def check_permission(customer_id: CustomerId) -> str:
        await desk.conduct.work("check_permission", customer_id)
        return told(shop.permission(customer_id))

    async def create_coupon(order_id: OrderId) -> str:
        await desk.conduct.work("create_coupon", order_id)
        return told(shop.coupon(order_id))

    async def list_policies() -> str:
        await desk.conduct.work("list_policies", "")
        return "Returns within 30 days; unused; refund to the card that paid."

    desk.add(get_order, "Look up an order.")
    desk.add(check_permission, "Check whether a customer may return goods.")
    desk.add(create_coupon, "Create the voucher for an order.", annotations=WRITE)
    desk.add(list_policies, "The shop's return policies.")
    furnish(desk, settings.extra_tools)
    return desk


if __name__ == "__main__":
    spanwise.instrument(service_name="orders")
    orders(Settings.read(sys.argv[1:])).server.run("stdio")
