"""What streamable HTTP does in tasks of its own: the listening stream, and faults that reach nobody."""

from __future__ import annotations

from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import set_span_in_context
from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.mcp import call, connection
from spanwise.mcp.patch import Patches
from spanwise.mcp.scope import Scope, around
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Notice(Scope):
    """The HTTP request of a notification: nobody waits for it."""

    def attributes(self) -> dict[str, AttributeValue]:
        """Which notification it is."""
        return super().attributes() | {semconv.MCP_METHOD_NAME: self.name, semconv.ASYNC: True}


def install(patches: Patches) -> None:
    """Watch the HTTP transport's tasks."""
    from mcp.client.streamable_http import StreamableHTTPTransport

    patches.wrap(StreamableHTTPTransport, "handle_get_stream", _listen)
    patches.wrap(StreamableHTTPTransport, "_handle_post_request", _post)


async def _listen(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """The stream lives as long as the session: it belongs to the connecting, not to the request that started it."""
    origin = _origin(instance)
    if origin is None:
        return await wrapped(*args, **kwargs)
    token = otel_context.attach(origin)
    try:
        return await wrapped(*args, **kwargs)
    finally:
        otel_context.detach(token)


async def _post(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """A fault here ends the transport, and the waiting caller sees no more than a cancellation."""
    with around(_notice(instance, *args, **kwargs)):
        try:
            return await wrapped(*args, **kwargs)
        except Exception as error:
            _blame(error, *args, **kwargs)
            raise


@guarded
def _origin(transport: Any) -> Context | None:
    owner = connection.transports.get(transport)
    return None if owner is None or owner.connecting is None else set_span_in_context(owner.connecting.span)


@guarded
def _notice(transport: Any, ctx: Any) -> Notice | None:
    message = ctx.session_message.message
    owner = connection.transports.get(transport)
    return None if owner is None or hasattr(message, "id") else Notice(message.method, owner)


@guarded
def _blame(error: Exception, ctx: Any) -> None:
    waiting = call.current()
    if waiting is not None and not waiting.end_ns and hasattr(ctx.session_message.message, "id"):
        waiting.fault = error
