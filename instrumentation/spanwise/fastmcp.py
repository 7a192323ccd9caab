"""FastMCP 4 on top of the ``mcp`` SDK: its server spans take the place of the SDK's own, its client spans give way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import Any, Final

import wrapt
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.propagate import extract
from opentelemetry.trace import INVALID_SPAN, NoOpTracer, Span, SpanKind

from spanwise import context
from spanwise.mcp import handled, serving
from spanwise.mcp.handled import Handling
from spanwise.mcp.patch import Patches
from spanwise.safety import guarded

_FIRST: Final = 4  # before it the SDK's own places are enough
_PARENT, _KIND, _ATTRIBUTES = "context", "kind", "attributes"

_patches: Patches | None = None
_watched: set[str] = set()


@guarded
def install() -> None:
    """Patch each of FastMCP's modules, now or when the program has imported it."""
    global _patches  # noqa: PLW0603 - one process has one instrumentation
    if _patches is None and int(version("fastmcp-slim").split(".")[0]) >= _FIRST:
        _patches = Patches(lambda: None)
        for module, patch in _MODULES.items():
            _await(module, patch)


def uninstall() -> None:
    """Put the original functions back."""
    global _patches
    patches, _patches = _patches, None
    if patches is not None:
        patches.undo()


def _await(module: str, patch: Callable[[Patches], None]) -> None:
    # A module that was imported before is patched at once.
    wrapt.register_post_import_hook(lambda _: _patches is not None and guarded(patch)(_patches), module)


def _client(patches: Patches) -> None:
    """A request that goes through FastMCP's client is one of the SDK's, and has our span there."""
    patches.wrap("fastmcp.client.telemetry", "get_tracer", lambda *_: _Silent())


def _server(patches: Patches) -> None:
    """FastMCP takes the SDK's middleware out and puts a span of its own there."""
    patches.wrap("fastmcp.server.telemetry", "get_tracer", _server_tracer)
    patches.wrap("fastmcp.server.telemetry", "extract_trace_context", _extract)


def _middleware(patches: Patches) -> None:
    patches.wrap("fastmcp.server.low_level:FastMCPServerMiddleware", "__call__", _handle)


class _Silent:
    """A tracer that makes no spans and leaves the current one as it is."""

    def start_as_current_span(self, *_args: Any, **_options: Any) -> AbstractContextManager[Span]:
        """As a tracer's own."""
        return nullcontext(INVALID_SPAN)


class _Split:
    """FastMCP's tracer, but the server span of a request that is being handled is ended by us, with sizes on it."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    def start_as_current_span(self, name: str, **options: Any) -> AbstractContextManager[Span]:
        """As the tracer's own."""
        work = handled.waiting() if options.get(_KIND) is SpanKind.SERVER else None
        if work is None:
            return self._tracer.start_as_current_span(name, **options)  # type: ignore[no-any-return] # of any tracer
        kept = {key: options.get(key) for key in (_PARENT, _KIND, _ATTRIBUTES)}
        return Handling(work, self._tracer.start_span(name, **kept))


def _server_tracer(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tracer = wrapped(*args, **kwargs)
    return tracer if isinstance(tracer, NoOpTracer) else _Split(tracer)


def _extract(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """FastMCP takes only the trace from the request; the conversation comes with it."""
    parent = wrapped(*args, **kwargs)
    return _joined(parent, args[0] if args else kwargs.get("meta")) or parent


@guarded
def _joined(parent: Context | None, meta: Mapping[str, Any] | None) -> Context | None:
    if parent is None or not meta or "traceparent" not in meta:
        return None
    return context.carried(extract(meta), parent)


async def _handle(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    ctx = args[0]
    if ctx.request_id is not None:
        return await serving._handle(wrapped, instance, args, kwargs)  # noqa: SLF001 - of the same package
    # A notification has no span of its own, but its handler is inside the caller's turn as well.
    token = attach(_joined(context.without_conversation(), ctx.meta) or get_current())
    try:
        return await wrapped(*args, **kwargs)
    finally:
        detach(token)


_MODULES: Final[dict[str, Callable[[Patches], None]]] = {
    "fastmcp.client.telemetry": _client,
    "fastmcp.server.telemetry": _server,
    "fastmcp.server.low_level": _middleware,
}
