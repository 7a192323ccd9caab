"""The SDK's own spans: its server spans stay, its client spans give way to ours."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from opentelemetry.trace import INVALID_SPAN, Span, SpanKind

from spanwise import semconv, tracer
from spanwise.mcp import call, handled
from spanwise.mcp.handled import Handling
from spanwise.mcp.patch import Patches
from spanwise.safety import shield

_SCOPE: Final = "mcp-python-sdk"
_SPAN_OPTIONS: Final = ("context", "kind", "attributes")


class Splitter:
    """Stands in for the SDK's tracer.

    For the client span of a request that has ours already it hands out a span that records nothing and leaves ours
    the current one: then the trace context that the SDK puts into the request is ours. The end of a server span is
    fixed by the SDK, but what is known of it then takes time to work out, so that it is ended by us.
    """

    def start_as_current_span(self, name: str, **options: Any) -> AbstractContextManager[Span]:
        """As the tracer's own."""
        ours = call.current()
        if options.get("kind") is SpanKind.CLIENT and ours is not None and ours.sent:
            with shield():
                _note(ours, options.get("attributes") or {})
            return nullcontext(INVALID_SPAN)
        native = tracer.of_scope(_SCOPE)
        work = handled.waiting() if options.get("kind") is SpanKind.SERVER and not _records(options) else None
        if work is None:
            return native.start_as_current_span(name, **options)
        return Handling(work, native.start_span(name, **_options(options)))


def _options(given: dict[str, Any]) -> dict[str, Any]:
    return {key: given.get(key) for key in _SPAN_OPTIONS}


def _records(options: dict[str, Any]) -> bool:
    """Whether the tracer would write down the errors that leave the block: the SDK does it by itself."""
    return bool(options.get("record_exception", True) or options.get("set_status_on_exception", True))


def install(patches: Patches) -> None:
    """Take the place of the SDK's tracer."""
    patches.replace("mcp.shared._otel", "_tracer", Splitter())


def _note(ours: call.Call, attributes: dict[str, Any]) -> None:
    ours.request_id = str(attributes[semconv.JSONRPC_REQUEST_ID])
