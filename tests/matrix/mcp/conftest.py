"""Where spans of a cell are kept: those of this process, and those of its server's process."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise

sys.path.insert(0, str(Path(__file__).parents[3]))
os.environ.setdefault("SPANWISE_RAISE", "1")

if TYPE_CHECKING:
    from tests.matrix.mcp.sink import Sink


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    """A provider that is not the global one."""
    made = TracerProvider(shutdown_on_exit=False)
    yield made
    made.shutdown()


@pytest.fixture
def kept(provider: TracerProvider) -> InMemorySpanExporter:
    """The ended spans of this process, once it is instrumented."""
    memory = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    return memory


@pytest.fixture
def traced(provider: TracerProvider, kept: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    """The ended spans of this process, which is instrumented."""
    spanwise.uninstrument()
    spanwise.instrument(tracer_provider=provider)
    yield kept
    spanwise.uninstrument()


@pytest.fixture
def sink() -> Iterator[Sink]:
    """Takes the spans of other processes."""
    from tests.matrix.mcp.sink import Sink

    with Sink().listening() as listening:
        yield listening


@pytest.fixture(autouse=True)
def swept() -> Iterator[None]:
    """What a server has left open is found here, not by the next test."""
    yield
    gc.collect()
