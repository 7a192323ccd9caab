"""What streamable HTTP does in tasks of its own: the listening stream, and faults that reach nobody."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.propagate import extract
from opentelemetry.trace import set_span_in_context
from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.mcp import call, carrier, connection
from spanwise.mcp.connection import Connection
from spanwise.mcp.notifying import parameters
from spanwise.mcp.patch import Patches
from spanwise.mcp.scope import Scope, around
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_TRANSPORT = "mcp.client.streamable_http:StreamableHTTPTransport"

_tries: ContextVar[list[Any] | None] = ContextVar("spanwise_mcp_tries", default=None)  # to listen, one after another


class Notice(Scope):
    """The HTTP request of a notification: nobody waits for it."""

    def __init__(self, notification: Any, owner: Connection) -> None:
        super().__init__(notification.method, owner)
        self._meta = parameters(notification).get(carrier.META)

    def parent(self) -> Context | None:
        """Where it was sent from, as the message itself says."""
        return extract(self._meta) if self._meta else None

    def attributes(self) -> dict[str, AttributeValue]:
        """Which notification it is."""
        return super().attributes() | {semconv.MCP_METHOD_NAME: self.name, semconv.ASYNC: True}


def install(patches: Patches) -> None:
    """Watch the HTTP transport's tasks."""
    patches.wrap(_TRANSPORT, "handle_get_stream", listen)
    patches.wrap(_TRANSPORT, "_handle_post_request", post)
    patches.wrap(_TRANSPORT, "_handle_reconnection", reconnect)
    patches.wrap(_TRANSPORT, "_prepare_headers", name_trace)


async def listen(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """The stream lives as long as the session: it belongs to the connecting, not to the request that started it."""
    origin = _origin(instance)
    if origin is None:
        return await wrapped(*args, **kwargs)
    token, tries = otel_context.attach(origin), _tries.set([])
    try:
        return await wrapped(*args, **kwargs)
    finally:
        _tries.reset(tries)
        otel_context.detach(token)


async def post(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """A fault here ends the transport, and the waiting caller sees no more than a cancellation."""
    with around(_notice(instance, *args, **kwargs)):
        try:
            return await wrapped(*args, **kwargs)
        except Exception as error:
            _blame(error, *args, **kwargs)
            raise


async def reconnect(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """The stream of an answer broke off; the SDK waits and asks for the rest, without a word to the caller."""
    _reconnected(instance)
    return await wrapped(*args, **kwargs)


def name_trace(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """The headers of an HTTP request, with the trace: also where no HTTP client is instrumented."""
    found = wrapped(*args, **kwargs)
    _trace(instance, found)
    return found


def message(ctx: Any) -> Any:
    """The message that the HTTP request of ``ctx`` carries; 1.x wraps it once more."""
    found = ctx.session_message.message
    return getattr(found, "root", found)


@guarded
def _trace(transport: Any, headers: MutableMapping[str, str]) -> None:
    owner, tries = connection.transports.get(transport), _tries.get()
    if owner is None:
        return
    for name, value in carrier.carried().items():
        headers.setdefault(name, value)
    if tries is not None:
        owner.reconnects += bool(tries)
        tries.append(None)


@guarded
def _origin(transport: Any) -> Context | None:
    owner = connection.transports.get(transport)
    return None if owner is None or owner.connecting is None else set_span_in_context(owner.connecting.span)


@guarded
def _notice(transport: Any, ctx: Any) -> Notice | None:
    owner, sent = connection.transports.get(transport), message(ctx)
    return None if owner is None or hasattr(sent, "id") else Notice(sent, owner)


@guarded
def _blame(error: Exception, ctx: Any) -> None:
    waiting = call.current()
    if waiting is not None and not waiting.end_ns and hasattr(message(ctx), "id"):
        waiting.fault = error


@guarded
def _reconnected(transport: Any) -> None:
    owner, waiting = connection.transports.get(transport), call.current()
    if owner is not None:
        owner.reconnects += 1
    if waiting is not None:
        waiting.reconnects += 1
