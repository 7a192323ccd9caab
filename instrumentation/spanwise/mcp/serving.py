"""The server's side of a request: the SDK's own span with sizes and kinds, and a handler inside its caller's turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import Token
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.propagate import extract
from opentelemetry.trace import Span, get_current_span
from opentelemetry.util.types import AttributeValue

from spanwise import context, semconv, text
from spanwise.mcp import call, handled
from spanwise.mcp.handled import Handled
from spanwise.mcp.patch import Patches
from spanwise.mcp.requesting import by_itself
from spanwise.safety import guarded, shield

Next = Callable[[Any], Awaitable[Any]]


def install(patches: Patches) -> None:
    """Stand around and right inside the SDK's tracing middleware, of servers made before and after this."""
    patches.wrap("mcp.server._otel:OpenTelemetryMiddleware", "__call__", _handle)
    patches.wrap("mcp.server._streamable_http_modern", "_tool_input_schema", by_itself, known=False)


async def _handle(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    ctx, call_next = args
    arrived = _arriving(ctx)
    work = Handled(get_current_span())
    token = handled.begin(work)
    try:
        return await wrapped(ctx, _inside(call_next, work), **kwargs)
    finally:
        _settle(work, token, ctx)
        if arrived is not None:
            otel_context.detach(arrived)


def _inside(call_next: Next, work: Handled) -> Next:
    async def handle(ctx: Any) -> Any:
        joined = _begin(work, ctx)
        try:
            work.result = await call_next(ctx)
        except BaseException as error:
            work.error = error
            raise
        finally:
            if joined is not None:
                otel_context.detach(joined)
        return work.result

    return handle


@guarded
def _arriving(ctx: Any) -> Token[Context] | None:
    """Where neither the message nor anybody else names the caller, its HTTP request may."""
    if handled.names_trace(ctx.meta) or get_current_span().get_span_context().is_valid:
        return None
    headers = handled.carrier(None, ctx.request)
    return None if headers is None else otel_context.attach(extract(headers))


@guarded
def rejoined(meta: Mapping[str, Any] | None, request: Any) -> Context | None:
    """The handler's context in the caller's conversation; None where the caller named no trace."""
    carrier = handled.carrier(meta, request)
    if carrier is None:
        return None
    # A server that runs in tasks of its own may have been started inside some other conversation.
    return context.carried(extract(carrier), context.without_conversation())


@guarded
def _begin(work: Handled, ctx: Any) -> Token[Context] | None:
    handled.link(get_current_span(), work.ambient)
    waiting = call.current()
    if waiting is not None and waiting.direct and not waiting.request_id and ctx.method == waiting.method:
        waiting.request_id, work.told = str(ctx.request_id), True
    joined = rejoined(ctx.meta, ctx.request)
    return None if joined is None else otel_context.attach(joined)


def _settle(work: Handled, token: Token[Handled | None], ctx: Any) -> None:
    with shield():
        handled.end(token)
    span = work.span
    if span is None:
        return
    try:
        _write(span, work, ctx)
    finally:
        span.end(work.end_ns)


def _details(work: Handled, ctx: Any) -> dict[str, AttributeValue]:
    found = handled.transport(ctx.request) | handled.request(ctx.method, ctx.params or {})
    if isinstance(work.result, Mapping) and ctx.request_id is not None:
        found |= handled.outline(ctx.method, ctx.params or {}, work.result)
    return found


@guarded
def _write(span: Span, work: Handled, ctx: Any) -> None:
    found: dict[str, AttributeValue] = {} if work.told else _details(work, ctx)
    if call.hidden.get():
        found[semconv.MCP_HIDDEN] = True
    if work.cancelled:
        found[semconv.CANCELLED] = True
    span.set_attributes(text.attributes(found))
