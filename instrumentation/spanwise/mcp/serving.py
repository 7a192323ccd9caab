"""The server's side of a request: the SDK's own span with sizes and kinds, and a handler inside its caller's turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.propagate import extract
from opentelemetry.trace import Span, SpanKind, get_current_span
from opentelemetry.util.types import AttributeValue

from spanwise import context, semconv, text
from spanwise.mcp import call, toolcall
from spanwise.mcp.patch import Patches
from spanwise.safety import guarded

Next = Callable[[Any], Awaitable[Any]]

_SESSION_HEADER = "mcp-session-id"


def install(patches: Patches) -> None:
    """Stand right inside the SDK's tracing middleware, of servers made before and after this."""
    from mcp.server._otel import OpenTelemetryMiddleware

    patches.wrap(OpenTelemetryMiddleware, "__call__", _handle)


async def _handle(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    ctx, call_next = args
    return await wrapped(ctx, _inside(call_next, get_current_span()), **kwargs)


def _inside(call_next: Next, ambient: Span) -> Next:
    async def handle(ctx: Any) -> Any:
        span = get_current_span()
        _link(span, ambient)
        _begin(span, ctx)
        token = otel_context.attach(_rejoined(ctx) or otel_context.get_current())
        try:
            result = await call_next(ctx)
        finally:
            otel_context.detach(token)
        _end(span, ctx, result)
        return result

    return handle


@guarded
def _rejoined(ctx: Any) -> Context | None:
    """The handler's context in the caller's conversation; the current one where the caller named no trace."""
    if not ctx.meta or "traceparent" not in ctx.meta:
        return None
    # A server that runs in tasks of its own may have been started inside some other conversation.
    return context.carried(extract(ctx.meta), context.without_conversation())


@guarded
def _link(span: Span, ambient: Span) -> None:
    """The request's message names the parent; the HTTP request that brought it is only linked."""
    if getattr(ambient, "kind", None) is SpanKind.SERVER:
        span.add_link(ambient.get_span_context())


@guarded
def _begin(span: Span, ctx: Any) -> None:
    waiting = call.current()
    if waiting is not None and waiting.direct and not waiting.request_id and ctx.method == waiting.method:
        waiting.request_id = str(ctx.request_id)
    span.set_attributes(text.attributes(_transport(ctx.request)))
    span.set_attributes(text.attributes(toolcall.request(ctx.method, ctx.params or {})))


@guarded
def _end(span: Span, ctx: Any, result: Any) -> None:
    if isinstance(result, Mapping) and ctx.request_id is not None:
        span.set_attributes(text.attributes(call.outline(ctx.method, ctx.params or {}, result)))


def _transport(request: Any) -> dict[str, AttributeValue]:
    """Network and session of a request that came by HTTP."""
    headers, client = getattr(request, "headers", None), getattr(request, "client", None)
    if headers is None:
        return {}
    found: dict[str, AttributeValue] = {semconv.NETWORK_TRANSPORT: "tcp"}
    if session := headers.get(_SESSION_HEADER):
        found[semconv.MCP_SESSION_ID] = session
    if client is not None:
        found |= {semconv.CLIENT_ADDRESS: client.host, semconv.CLIENT_PORT: client.port}
    return found
