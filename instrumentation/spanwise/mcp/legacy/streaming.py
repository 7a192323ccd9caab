"""Streamable HTTP of 1.x: its tasks run in the context of whoever opened the transport, not of who sends."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from spanwise.mcp import call, connection, streaming
from spanwise.mcp.patch import Patches
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_TRANSPORT = "mcp.client.streamable_http:StreamableHTTPTransport"

# What writes the headers of a request: in 1.9, from 1.10 on, from 1.24 on.
_HEADERS = ("_update_headers_with_session", "_prepare_request_headers", "_prepare_headers")


def install(patches: Patches) -> None:
    """Watch the HTTP transport's tasks, and bring each back to its request."""
    patches.wrap(_TRANSPORT, "handle_get_stream", streaming.listen)
    patches.wrap(_TRANSPORT, "_handle_post_request", _post)
    patches.wrap(_TRANSPORT, "_handle_resumption_request", _resume)
    patches.wrap(_TRANSPORT, "_handle_reconnection", streaming.reconnect, known=False)  # from 1.24 on
    for name in _HEADERS:
        patches.wrap(_TRANSPORT, name, streaming.name_trace, known=False)


async def _post(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with _rejoining(instance, *args) or nullcontext():
        return await streaming.post(wrapped, instance, args, kwargs)


async def _resume(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with _rejoining(instance, *args) or nullcontext():
        return await wrapped(*args, **kwargs)


@guarded
def _rejoining(transport: Any, ctx: Any) -> AbstractContextManager[None] | None:
    owner = connection.transports.get(transport)
    message = streaming.message(ctx)
    waiting = None if owner is None or not hasattr(message, "method") else owner.calls.get(getattr(message, "id", None))
    return None if waiting is None else call.resumed(waiting)
