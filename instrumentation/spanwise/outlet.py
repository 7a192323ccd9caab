"""The way out: ended spans are queued, sent by one thread, counted, and never keep the program from exiting."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.sdk.environment_variables import OTEL_BSP_SCHEDULE_DELAY
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from spanwise.process import own_resource
from spanwise.writable import mended

CLOSE_LIMIT = 1.5  # s: what an exit may wait for a collector that is away
_DELAY_MS = 1000  # the SDK's 5 s would keep somebody who looks at a running agent waiting

_log = logging.getLogger("spanwise")


class Outlet:
    """Bounded queue and sending thread around one exporter."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = _Counting(exporter)
        # The variable wins over our default; the SDK reads it where the argument is None.
        delay = None if os.environ.get(OTEL_BSP_SCHEDULE_DELAY) else _DELAY_MS
        self._batches = BatchSpanProcessor(self._exporter, schedule_delay_millis=delay)
        self._count = _Count()
        os.register_at_fork(after_in_child=self._count.reset) if hasattr(os, "register_at_fork") else None

    @property
    def lost(self) -> int:
        """Spans that were put in and not delivered, so far."""
        return self._count.value - self._exporter.sent.value

    def put(self, span: ReadableSpan) -> None:
        """Queue one ended span."""
        self._count.add(1)
        self._batches.on_end(span)

    def flush(self, limit: float = CLOSE_LIMIT) -> bool:
        """Send what is queued; False where it took longer than ``limit`` seconds."""
        return _within(limit, self._batches.force_flush)

    def close(self, limit: float = CLOSE_LIMIT) -> None:
        """Send what is queued and stop; gives up after ``limit`` seconds and says what was lost."""
        _within(limit, self._batches.shutdown)
        if self.lost > 0:
            _log.warning("%d spans were lost: %s", self.lost, self._reason())

    def _reason(self) -> str:
        unwritable = self._exporter.unwritable.value
        failed = self._exporter.tried.value - self._exporter.sent.value - unwritable
        waiting = self._count.value - self._exporter.tried.value
        reasons = [f"{unwritable} of them could not be encoded"] if unwritable else []
        if failed > 0:  # then the others waited for those
            reasons.append("the collector could not be reached, or did not take them")
        elif waiting > 0:
            reasons.append("they ended faster than they could be sent")
        return "; ".join(reasons)


class _Count:
    """A number that several threads add to."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self.value = 0

    def add(self, number: int) -> None:
        with self._lock:
            self.value += number


class _Counting(SpanExporter):
    """Counts what was delivered, and names the right process after a fork."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.tried, self.sent, self.unwritable = _Count(), _Count(), _Count()
        for count in (self.tried, self.sent, self.unwritable):
            os.register_at_fork(after_in_child=count.reset) if hasattr(os, "register_at_fork") else None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.tried.add(len(spans))
        own = [own_resource(span) for span in spans]
        try:
            result = self._send(own)
        except Exception:
            # One exporter raises what the other answers: a text that cannot be encoded.
            if (writable := self._mended(own)) is None:
                raise
            return self._send(writable)
        if result is not SpanExportResult.SUCCESS and (writable := self._mended(own)) is not None:
            return self._send(writable)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def _send(self, spans: list[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans) if spans else SpanExportResult.SUCCESS
        if result is SpanExportResult.SUCCESS:
            self.sent.add(len(spans))
        return result

    def _mended(self, spans: list[ReadableSpan]) -> list[ReadableSpan] | None:
        found = mended(spans)
        if found is not None:
            self.unwritable.add(len(spans) - len(found))
        return found


def _within(limit: float, work: Callable[[], Any]) -> bool:
    # The SDK's own time limits are not kept (force_flush ignores its argument, shutdown takes 30 s), so the
    # work runs on a daemon thread, which an exit does not wait for.
    thread = threading.Thread(target=work, name="spanwise-flush", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the interpreter is too far gone to start threads
        return False
    thread.join(limit)
    return not thread.is_alive()
