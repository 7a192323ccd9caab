"""Tools that the shop's other departments use and a return never needs."""

from __future__ import annotations

from collections.abc import Callable

from spanwise_demo.servers.desk import Desk, OrderId

_SUBJECTS = ("invoice", "supplier", "shift", "campaign", "contract", "shelf", "audit", "budget")
_DEEDS = (
    ("archive", "Archive the {} that belongs to an order and keep its number for the yearly report."),
    ("export", "Export the {} of an order as a spreadsheet for the accounting department."),
    ("approve", "Approve the {} of an order on behalf of the head of department."),
    ("assign", "Assign the {} of an order to a member of the responsible team."),
    ("compare", "Compare the {} of an order with that of the month before."),
)


def furnish(desk: Desk, count: int) -> None:
    """Adds this many of them, up to forty."""
    deeds = [(deed, subject, text) for subject in _SUBJECTS for deed, text in _DEEDS]
    for deed, subject, text in deeds[:count]:
        desk.add(_tool(desk, f"{deed}_{subject}"), text.format(subject))


def _tool(desk: Desk, name: str) -> Callable[..., object]:
    async def tool(order_id: OrderId, department: str, remark: str = "", urgent: bool = False) -> str:  # noqa: FBT001, FBT002 - an MCP tool's parameters have names on the wire
        await desk.conduct.work(name, f"{order_id}{department}{remark}{urgent}")
        return "done"

    tool.__name__ = name
    return tool
