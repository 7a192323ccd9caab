"""The ``logistics`` server over streamable HTTP: parcels and pick-ups."""

from __future__ import annotations

import sys

from mcp_types import ImageContent, TextContent

import spanwise
from spanwise_demo.listen import listen
from spanwise_demo.servers import shop
from spanwise_demo.servers.desk import Desk, TrackingNumber, told
from spanwise_demo.servers.settings import Settings


def logistics(settings: Settings) -> Desk:
    """The server with its tools."""
    desk = Desk("logistics", settings)

    async def track_shipment(tracking_number: TrackingNumber) -> list[TextContent | ImageContent]:
        await desk.conduct.work("track_shipment", tracking_number)
        said: list[TextContent | ImageContent] = [TextContent(type="text", text=told(shop.shipment(tracking_number)))]
        if settings.photo_kib:
            photo = shop.proof(tracking_number, settings.photo_kib)
            said.append(ImageContent(type="image", data=photo, mime_type="image/png"))
        return said

    async def estimate_return(tracking_number: TrackingNumber) -> str:
        await desk.conduct.work("estimate_return", tracking_number)
        return told(shop.pickup(tracking_number))

    desk.add(track_shipment, "Where a parcel is.")
    desk.add(estimate_return, "When a return can be collected.")
    return desk


if __name__ == "__main__":
    spanwise.instrument(service_name="logistics")
    listen(logistics(Settings.read(sys.argv[1:])).server.streamable_http_app(), "/mcp")
