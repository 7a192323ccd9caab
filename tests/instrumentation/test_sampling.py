"""What is not sampled costs nothing to describe, and the conversation goes on through it all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from tests.instrumentation.model import ModelServer, Reply, completion

import spanwise
from spanwise.context import conversation_id


@pytest.fixture
def unsampled(model: ModelServer) -> Iterator[InMemorySpanExporter]:
    provider, memory = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    model.replies = [Reply(completion())]
    spanwise.uninstrument()
    spanwise.instrument(tracer_provider=provider)
    yield memory
    spanwise.uninstrument()
    provider.shutdown()


class Untouched(dict[str, Any]):
    """Tells when somebody looks into it."""

    looks = 0

    def items(self) -> Any:
        """Look."""
        self.looks += 1
        return super().items()

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        return super().__iter__()


def test_values_of_a_step_or_tool_that_nobody_will_see_are_not_looked_at(unsampled: InMemorySpanExporter) -> None:
    value = Untouched(a=1)

    @spanwise.tool
    def same(given: Any) -> Any:
        return given

    with spanwise.conversation("c-1"), spanwise.turn(agent="shop"), spanwise.step("s", given=value) as step:
        step.output(brought=value)
        assert same(value) is value
        assert conversation_id() == "c-1"
    assert (value.looks, unsampled.get_finished_spans()) == (0, ())


def test_a_request_that_is_not_sampled_carries_the_conversation_and_says_so(
    unsampled: InMemorySpanExporter, model: ModelServer
) -> None:
    with spanwise.conversation("c-1"), httpx2.Client() as client:
        client.post(f"{model.url}/x", json={})
    (request,) = model.received
    assert request.headers["baggage"] == "gen_ai.conversation.id=c-1"
    assert int(request.headers["traceparent"].rpartition("-")[2], 16) & 1 == 0
    assert unsampled.get_finished_spans() == ()
