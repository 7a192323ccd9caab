"""Spans of the code under test, kept in memory on a provider of their own, and a model server to call."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise

# Tests are collected without being packages; what they share is imported by its path from the root.
sys.path.insert(0, str(Path(__file__).parents[2]))

if TYPE_CHECKING:
    from tests.instrumentation.model import ModelServer


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    """A provider that is not the global one."""
    made = TracerProvider(shutdown_on_exit=False)
    yield made
    made.shutdown()


@pytest.fixture
def exporter(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The ended spans of a fully instrumented process; the original functions are back afterwards."""
    monkeypatch.setenv("SPANWISE_RAISE", "1")
    memory = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    spanwise.uninstrument()
    spanwise.instrument(tracer_provider=provider)
    yield memory
    spanwise.uninstrument()


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A running model server that answers what the test puts into ``replies``."""
    from tests.instrumentation.model import ModelServer

    with ModelServer().running() as server:
        yield server
