"""Runs the same piece of a program without us and with us."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise
from spanwise import semconv


@contextmanager
def instrumented(provider: TracerProvider) -> Iterator[None]:
    """With us inside the block, and without us afterwards."""
    spanwise.instrument(tracer_provider=provider, mcp=False)
    try:
        yield
    finally:
        spanwise.uninstrument()


def noted(program: Callable[[], Any]) -> tuple[Any, ...]:
    """What ``program`` comes to: its value, or the exception that leaves it."""
    try:
        return ("returned", program())
    except Exception as error:  # noqa: BLE001 - the very thing that is compared
        return ("raised", type(error), str(error), type(error.__cause__))


def both(program: Callable[[], Any], provider: TracerProvider) -> tuple[Any, ...]:
    """What ``program`` comes to, which must be the same with us and without."""
    plain = noted(program)
    with instrumented(provider):
        traced = noted(program)
    assert plain == traced
    return traced


def calls(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    """The spans of model calls."""
    return [span for span in exporter.get_finished_spans() if semconv.GEN_AI_OPERATION_NAME in (span.attributes or {})]


def only(exporter: InMemorySpanExporter) -> ReadableSpan:
    """The only model call there was."""
    (span,) = calls(exporter)
    return span


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """What is on ``span``."""
    return dict(span.attributes or {})
