"""The shop's records, made up from the number asked for, so every run knows the same orders."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

from spanwise_demo.picture import photograph

ARTICLES = ("rain jacket", "desk lamp", "walking boots", "coffee grinder", "travel bag")
_KIB = 1024


def order(order_id: str) -> dict[str, Any]:
    """What a support case needs to know of an order."""
    chance = random.Random(order_id)  # noqa: S311 - made-up records
    return {
        "order_id": order_id,
        "status": "delivered",
        "article": chance.choice(ARTICLES),
        "price_cents": chance.randrange(19, 190) * 100,
        "days_since_delivery": chance.randrange(2, 20),
    }


def whole_order(order_id: str, kib: int) -> str:
    """The order as the database has it: every field and the operations log, about ``kib`` KiB of JSON."""
    chance = random.Random(order_id)  # noqa: S311 - made-up records
    log: list[str] = []
    size = 0
    while size < kib * _KIB:
        log.append(f"{len(log):05d} picker={chance.randrange(900)} bin={chance.randrange(9000)} state=moved ok")
        size += len(log[-1]) + len('"", ')
    return json.dumps(order(order_id) | {"operations_log": log})


def permission(customer_id: str) -> dict[str, Any]:
    """Whether this customer may return goods."""
    return {"customer_id": customer_id, "may_return": True, "period_days": 30}


def coupon(order_id: str) -> dict[str, Any]:
    """A voucher; the same order always gets the same one."""
    return {"order_id": order_id, "code": f"V-{order_id[2:]}", "percent": 10}


def shipment(tracking_number: str) -> dict[str, Any]:
    """Where a parcel is."""
    return {"tracking_number": tracking_number, "state": "handed over", "place": "front door"}


def pickup(tracking_number: str) -> dict[str, Any]:
    """When a return could be collected, and what that costs."""
    chance = random.Random(tracking_number)  # noqa: S311 - made-up records
    return {"tracking_number": tracking_number, "collected_in_days": chance.randrange(1, 5), "cost_cents": 0}


def proof(tracking_number: str, kib: int) -> str:
    """Base64 of the photograph that the driver took, about ``kib`` KiB of PNG."""
    side = int((kib * _KIB / 3) ** 0.5) + 1
    return base64.b64encode(photograph(side, side, seed=tracking_number)).decode()
