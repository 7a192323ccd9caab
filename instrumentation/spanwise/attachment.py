"""Our place on a tracer provider: it marks spans with their conversation and hands ended ones to our exporter."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from spanwise.context import conversation_attributes
from spanwise.outlet import Outlet
from spanwise.safety import guarded
from spanwise.unfinished import end_all


class Attachment(SpanProcessor):
    """One per provider and never removed, since the SDK knows no removal: switched on and off instead."""

    def __init__(self) -> None:
        self._on = False
        self._outlet: Outlet | None = None

    def mark(self) -> None:
        """Mark spans from now on."""
        self._on = True

    def connect(self, outlet: Outlet | None) -> None:
        """Mark spans from now on; ended ones also go to ``outlet``."""
        self._outlet, self._on = outlet, True

    def disconnect(self) -> None:
        """Mark nothing more, and see our outlet emptied and closed within its time limit."""
        self._on = False
        self._close()

    @guarded
    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Copy conversation and turn from the context onto the span."""
        if self._on:
            span.set_attributes(conversation_attributes(parent_context))

    @guarded
    def on_end(self, span: ReadableSpan) -> None:
        """Queue the span; nothing is sent on this thread."""
        if self._outlet is not None and span.context is not None and span.context.trace_flags.sampled:
            self._outlet.put(span)

    @guarded
    def shutdown(self) -> None:
        """Send what is queued, within the outlet's time limit; what is still open is sent as it is."""
        end_all()
        self._close()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Send what is queued; False where that did not end in time."""
        return True if self._outlet is None else self._outlet.flush(timeout_millis / 1000)

    def _close(self) -> None:
        outlet, self._outlet = self._outlet, None
        if outlet is not None:
            outlet.close()


_lock = threading.Lock()
_attached: WeakKeyDictionary[TracerProvider, Attachment] = WeakKeyDictionary()


def attached(provider: TracerProvider) -> Attachment:
    """The attachment of ``provider``, added to it the first time."""
    with _lock:
        found = _attached.get(provider)
        if found is None:
            found = _attached[provider] = Attachment()
            provider.add_span_processor(found)
        return found
