"""Notifications: what the client sends belongs to its trace, and what the server sends is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spanwise.mcp import carrier, connection
from spanwise.mcp.patch import Patches
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_LIST_CHANGED: Final = "/list_changed"


def install(patches: Patches) -> None:
    """Watch notifications in both directions."""
    patches.wrap("mcp.shared.jsonrpc_dispatcher:JSONRPCDispatcher", "notify", _notify)
    patches.wrap("mcp.client.session:ClientSession", "_intercept_notification", _intercept)


async def _notify(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    return await wrapped(*(_informed(instance, args) or args), **kwargs)


def _intercept(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    count(instance, *args[:1])
    return wrapped(*args, **kwargs)


@guarded
def _informed(dispatcher: Any, args: Args) -> Args | None:
    """The arguments of a client's notification, with its trace context: else the server's span would be an orphan."""
    if dispatcher not in connection.dispatchers or len(args) < 2:  # noqa: PLR2004 - method and parameters
        return None
    method, params, *rest = args
    return (method, carrier.with_context(params), *rest)


@guarded
def count(session: Any, method: str) -> None:
    """The server of ``session`` sent a notification."""
    owner = connection.of_session(session)
    owner.notices += 1
    owner.list_changes += method.endswith(_LIST_CHANGED)


def parameters(message: Any) -> Mapping[str, Any]:
    """The parameters of a message of JSON-RPC, of either SDK line."""
    found = getattr(message, "params", None)
    return found if isinstance(found, Mapping) else {}
