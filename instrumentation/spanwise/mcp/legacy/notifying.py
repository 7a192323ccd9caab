"""Notifications of 1.x, in both directions."""

from __future__ import annotations

from typing import Any

from spanwise.mcp import carrier, connection, notifying
from spanwise.mcp.legacy.wire import Outgoing
from spanwise.mcp.patch import Patches
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def install(patches: Patches) -> None:
    """Watch what a client sends, and what comes to it."""
    patches.wrap("mcp.shared.session:BaseSession", "send_notification", _send)
    patches.wrap("mcp.client.session:ClientSession", "_received_notification", _received)


async def _send(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    return await wrapped(*(_informed(instance, args) or args), **kwargs)


async def _received(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    _count(instance, *args)
    return await wrapped(*args, **kwargs)


@guarded
def _informed(session: Any, args: Args) -> Args | None:
    if session not in connection.dispatchers or not args:
        return None

    @guarded
    def sent(data: dict[str, Any]) -> dict[str, Any]:
        params = data.get("params")
        changed = carrier.with_context(params)
        return data if changed is params else {**data, "params": changed}

    return (Outgoing(args[0], sent), *args[1:])


@guarded
def _count(session: Any, notification: Any) -> None:
    notifying.count(session, notification.root.method)
