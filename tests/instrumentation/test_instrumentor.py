"""The standard entry points: which versions they ask for, what they switch on, and how they are switched off."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import openai
import openai._base_client as base
import pytest
from mcp.client.session import ClientSession
from opentelemetry.instrumentation.dependencies import get_dependency_conflicts
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from packaging.requirements import Requirement
from tests.instrumentation.model import Reply, completion

import spanwise
from spanwise.instrumentor import MCPInstrumentor, OpenAIInstrumentor

if TYPE_CHECKING:
    from tests.instrumentation.model import ModelServer


@pytest.fixture
def memory(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The spans of a process in which nothing is switched on yet."""
    monkeypatch.setenv("SPANWISE_RAISE", "1")
    spanwise.uninstrument()
    kept = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    yield kept
    for instrumentor in (OpenAIInstrumentor(), MCPInstrumentor()):
        if instrumentor.is_instrumented_by_opentelemetry:
            instrumentor.uninstrument()


def ask(model: ModelServer) -> None:
    model.replies = [Reply(completion())]
    with openai.OpenAI(base_url=model.url, api_key="none") as client:
        client.chat.completions.create(model="m", messages=[])


def ours(memory: InMemorySpanExporter) -> list[str]:
    found = [span for span in memory.get_finished_spans() if span.instrumentation_scope is not None]
    return [span.name for span in found if span.instrumentation_scope and span.instrumentation_scope.name == "spanwise"]


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        (OpenAIInstrumentor, ("1.109.0", "2.54.0", "3.57.0"), ("1.108.9", "4.0.0")),
        (MCPInstrumentor, ("1.9.4", "1.30.0", "2.0.0", "2.3.0"), ("1.9.3", "3.0.0")),
    ],
)
def test_the_versions_that_are_asked_for_are_those_that_were_checked(
    kind: Any, taken: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    (asked,) = kind().instrumentation_dependencies()
    wanted = Requirement(asked)
    assert [wanted.specifier.contains(found) for found in taken] == [True] * len(taken)
    assert [wanted.specifier.contains(found) for found in refused] == [False] * len(refused)
    assert wanted.specifier.contains(version(wanted.name))
    assert get_dependency_conflicts(kind().instrumentation_dependencies()) is None


def test_each_switches_on_its_own_part_and_puts_it_back(
    memory: InMemorySpanExporter, provider: TracerProvider, model: ModelServer
) -> None:
    request, send = vars(base.SyncAPIClient)["request"], vars(ClientSession)["send_request"]
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    assert vars(ClientSession)["send_request"] is send
    ask(model)
    OpenAIInstrumentor().uninstrument()
    ask(model)
    assert ours(memory) == ["chat m"]
    assert vars(base.SyncAPIClient)["request"] is request
    MCPInstrumentor().instrument(tracer_provider=provider)
    assert vars(ClientSession)["send_request"] is not send
    MCPInstrumentor().uninstrument()
    assert vars(ClientSession)["send_request"] is send


def test_a_disabled_sdk_patches_nothing(
    memory: InMemorySpanExporter, provider: TracerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    request = vars(base.SyncAPIClient)["request"]
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    assert vars(base.SyncAPIClient)["request"] is request


def test_what_is_suppressed_makes_no_span(
    memory: InMemorySpanExporter, provider: TracerProvider, model: ModelServer
) -> None:
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    with suppress_instrumentation():
        ask(model)
    assert ours(memory) == []
    ask(model)
    assert ours(memory) == ["chat m"]
