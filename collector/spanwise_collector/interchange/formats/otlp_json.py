"""OTLP/JSON: a trace request, as the OpenTelemetry Collector's file exporter writes one a line."""

from __future__ import annotations

from collections.abc import Iterator

from spanwise_collector.interchange.formats.format import Format
from spanwise_collector.interchange.piece import JSON, Body


def _fits(body: bytes) -> bool:
    # An empty request is one, too. In snake case it is none, but then the decoder says what is wrong with it.
    return b'"resourceSpans"' in body or b'"resource_spans"' in body or body.split() in ([b"{}"], [b"{", b"}"])


def _bodies(body: bytes) -> Iterator[Body]:
    yield Body(body, JSON)


FORMAT = Format("OTLP JSON", _fits, _bodies)
