"""Hands batches to an exporter: from the right process, small enough to be taken, and mended where that helps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from spanwise.backlog import Weighed
from spanwise.process import own_resource
from spanwise.shortening import shortened
from spanwise.writable import mended

# Receivers take 4 MiB by default over gRPC, and drop the whole request if it is more.
MAX_REQUEST_BYTES = 3_500_000

_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a batch: how many spans arrived, and how many no receiver could ever take."""

    sent: int = 0
    unwritable: int = 0
    refused: bool = False  # the rest was not taken


class Shipment:
    """One exporter, made anew in a child of fork, where the parent's connections are not for us."""

    def __init__(self, make: Callable[[], SpanExporter]) -> None:
        self._make = make
        self._exporter: SpanExporter | None = make()
        self._inherited: SpanExporter | None = None
        self._stopped = False

    def renew(self) -> None:
        """Leave the exporter to the process that it belongs to. It is kept: taking it apart may need its threads."""
        self._inherited, self._exporter = self._exporter, None

    def send(self, batch: Sequence[Weighed]) -> Outcome:
        """Deliver, whatever is in the spans. Never raises."""
        try:
            return self._send(batch)
        except Exception:  # noqa: BLE001 - else the thread that sends would end, and with it all sending
            _log.debug("a batch could not be handed over", exc_info=True)
            return Outcome(refused=True)

    def _send(self, batch: Sequence[Weighed]) -> Outcome:
        spans = [own_resource(span if size <= MAX_REQUEST_BYTES else _fitting(span)) for span, size in batch]
        if self._export(spans):
            return Outcome(sent=len(spans))
        found = mended(spans)
        if found is None:
            return Outcome(refused=True)
        sent = self._export(found)
        return Outcome(sent=len(found) if sent else 0, unwritable=len(spans) - len(found), refused=not sent)

    def stop(self) -> None:
        """Make a delivery that is going on give up, and free what the exporter holds."""
        exporter, self._exporter, self._stopped = self._exporter, None, True
        if exporter is not None:
            try:
                exporter.shutdown()
            except Exception:  # noqa: BLE001 - it may be the program's own
                _log.debug("the exporter could not be shut down", exc_info=True)

    def _export(self, spans: Sequence[ReadableSpan]) -> bool:
        if not spans or self._stopped:
            return not spans
        try:
            exporter = self._exporter = self._exporter or self._make()
            return exporter.export(spans) is SpanExportResult.SUCCESS
        except Exception:  # noqa: BLE001 - as above
            # One exporter raises what the other answers: a text that cannot be encoded.
            _log.debug("the exporter raised", exc_info=True)
            return False


def _fitting(span: ReadableSpan) -> ReadableSpan:
    try:
        return shortened(span, MAX_REQUEST_BYTES)
    except Exception:  # noqa: BLE001 - whatever a program has put into its span
        _log.debug("a span that is too big could not be shortened", exc_info=True)
        return span
