"""The SDK's own spans: its server spans stay, its client spans give way to ours."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from opentelemetry.trace import INVALID_SPAN, Span, SpanKind

from spanwise import semconv, tracer
from spanwise.mcp import call
from spanwise.safety import shield

_SCOPE: Final = "mcp-python-sdk"


class Splitter:
    """Stands in for the SDK's tracer.

    For the client span of a request that has ours already it hands out a span that records nothing and leaves ours
    the current one: then the trace context that the SDK puts into the request is ours.
    """

    def start_as_current_span(self, name: str, **options: Any) -> AbstractContextManager[Span]:
        """As the tracer's own."""
        ours = call.current()
        if options.get("kind") is SpanKind.CLIENT and ours is not None and ours.sent:
            with shield():
                _note(ours, options.get("attributes") or {})
            return nullcontext(INVALID_SPAN)
        return tracer.provider().get_tracer(_SCOPE).start_as_current_span(name, **options)


def _note(ours: call.Call, attributes: dict[str, Any]) -> None:
    ours.request_id = str(attributes[semconv.JSONRPC_REQUEST_ID])
