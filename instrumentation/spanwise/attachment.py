"""Our place on a tracer provider: it marks spans with their conversation and hands ended ones to our exporters."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from spanwise import workers
from spanwise.context import conversation_attributes
from spanwise.outlet import Outlet
from spanwise.safety import guarded
from spanwise.unfinished import end_all


class Attachment(SpanProcessor):
    """One per provider and never removed, since the SDK knows no removal: switched on and off instead."""

    def __init__(self) -> None:
        self._on = False
        self._outlets: Sequence[Outlet] = ()

    def mark(self) -> None:
        """Mark spans from now on."""
        self._on = True

    def connect(self, outlets: Sequence[Outlet]) -> None:
        """Mark spans from now on; ended ones also go to each of ``outlets``."""
        self._outlets, self._on = outlets, True

    def disconnect(self) -> None:
        """Mark nothing more, and see our outlets emptied and closed within their time limits."""
        self._on = False
        self._close()

    @guarded
    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Copy conversation and turn from the context onto the span."""
        if self._on and (found := conversation_attributes(parent_context)):
            span.set_attributes(found)

    @guarded
    def on_end(self, span: ReadableSpan) -> None:
        """Queue the span; nothing is sent on this thread."""
        if self._outlets and _ours(span):
            for outlet in self._outlets:
                outlet.put(span)

    @guarded
    def shutdown(self) -> None:
        """Send what is queued, within the outlets' time limits; what is still open is sent as it is."""
        end_all()
        self._close()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Send what is queued; False where nobody takes it, or where that did not end in time."""
        deadline = time.monotonic() + timeout_millis / 1000
        done = [outlet.flush(max(0.0, deadline - time.monotonic())) for outlet in self._outlets]
        return all(done)

    def _close(self) -> None:
        outlets, self._outlets = self._outlets, ()
        for outlet in outlets:
            outlet.close()


_lock = threading.RLock()
_attached: WeakKeyDictionary[TracerProvider, Attachment] = WeakKeyDictionary()
_forked_ns = 0  # when this process was forked off another one


def attached(provider: TracerProvider) -> Attachment:
    """The attachment of ``provider``, added to it the first time."""
    with _lock:
        found = _attached.get(provider)
        if found is None:
            found = _attached[provider] = Attachment()
            provider.add_span_processor(found)
            workers.tell(found)
        return found


def _ours(span: ReadableSpan) -> bool:
    """Whether the span is for this process to send: it was sampled, and it was not open when we were forked off.

    What was open then ends in both processes, with the same ids; the parent's is the one that counts.
    """
    sampled = span.context is not None and span.context.trace_flags.sampled
    return sampled and (not _forked_ns or (span.start_time or 0) >= _forked_ns)


def _forked() -> None:
    global _forked_ns, _lock
    _forked_ns, _lock = time.time_ns(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
