"""A pytest plugin: writes into the report how many spans each cell looked at."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

PROPERTY = "spans"
_export = InMemorySpanExporter.export
_seen = 0


def _counted(self: InMemorySpanExporter, spans: Sequence[ReadableSpan]) -> Any:
    global _seen  # noqa: PLW0603 - one process runs one suite
    _seen += len(spans)
    return _export(self, spans)


def pytest_configure() -> None:
    """Count whatever is kept in memory; cells that read spans elsewhere record the number themselves."""
    InMemorySpanExporter.export = _counted  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Note the spans of one cell."""
    before = _seen
    try:
        return (yield)
    finally:
        if _seen > before:
            item.user_properties.append((PROPERTY, str(_seen - before)))
