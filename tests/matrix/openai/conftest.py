"""A model service for all cells, and an instrumented process whose spans are kept in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

# Tests are collected without being packages; what they share is imported by its path from the root.
sys.path.insert(0, str(Path(__file__).parents[3]))
os.environ.setdefault("SPANWISE_RAISE", "1")  # a fault of ours must be seen

if TYPE_CHECKING:
    from tests.matrix.openai.service import Service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """A running model service."""
    from tests.matrix.openai.service import Service

    with Service().running() as made:
        yield made


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    """A provider that is not the global one."""
    made = TracerProvider(shutdown_on_exit=False)
    yield made
    made.shutdown()


@pytest.fixture
def exporter(provider: TracerProvider) -> InMemorySpanExporter:
    """The ended spans."""
    memory = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    return memory


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries that the service does not time come soon."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
