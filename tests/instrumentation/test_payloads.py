"""Large spans arrive at the real receiver: whole where it takes them, else cut and marked as such."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode
from tests.instrumentation.model import completion

import spanwise
from spanwise import semconv
from spanwise.endpoint import GRPC, HTTP, Endpoint, exporter
from spanwise_collector.receiver import Bound, Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Store

GRPC_DEFAULT = 4 * 2**20  # bytes that a gRPC receiver takes where nobody says otherwise


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.open(tmp_path / "spans.db")
    yield made
    made.close()


@pytest.fixture
def bound(store: Store) -> Iterator[Bound]:
    """A receiver with the limit that receivers of gRPC have by default."""
    settings = ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0, max_message_bytes=GRPC_DEFAULT)
    receiver = Receiver(store, settings)
    yield receiver.start()
    receiver.stop()


def sender(bound: Bound, protocol: str) -> SpanExporter:
    if protocol == GRPC:
        return exporter(Endpoint(GRPC, f"http://{bound.grpc}", chosen=True))
    return exporter(Endpoint(HTTP, f"{bound.http}/v1/traces", chosen=True))


def send(made: SpanExporter, *values: str) -> None:
    """One span of a conversation for each of ``values``, which is an attribute of it."""
    provider = TracerProvider(shutdown_on_exit=False)
    spanwise.uninstrument()
    spanwise.instrument(tracer_provider=provider, span_exporter=made)
    tracer = provider.get_tracer("program")
    with spanwise.conversation("c-1"):
        for number, value in enumerate(values):
            tracer.start_span(str(number), attributes={"large": value}).end()
    spanwise.uninstrument()


def arrived(store: Store) -> dict[int, tuple[Any, Any]]:
    """By number: the attribute as it is stored, and the mark that it was cut."""
    spans = store.reader().spans("c-1")
    return {int(each.name): (each.attributes["large"], each.attributes.get(semconv.TRUNCATED)) for each in spans}


@pytest.mark.parametrize("protocol", [GRPC, HTTP])
def test_many_spans_that_no_single_request_could_hold_all_arrive(bound: Bound, store: Store, protocol: str) -> None:
    text = "x" * 130_000
    send(sender(bound, protocol), *[text] * 40)
    assert dict.fromkeys(range(40), (text, None)) == arrived(store)


def test_one_that_is_too_large_is_shortened_and_costs_no_other(bound: Bound, store: Store) -> None:
    small, huge = "x" * 130_000, "y" * 20 * 2**20
    send(sender(bound, GRPC), *[small] * 20, huge, *[small] * 19)
    found = arrived(store)
    kept, mark = found.pop(20)
    assert [(small, None)] * 39 == list(found.values())
    assert 3 * 2**20 < len(kept) < len(huge)
    assert (huge[: len(kept)], len(huge)) == (kept, mark)


def test_a_span_whose_texts_are_too_large_is_shortened(bound: Bound, store: Store) -> None:
    """Its name, its status, the name of an event: they are no attributes."""
    made, provider = sender(bound, GRPC), TracerProvider(shutdown_on_exit=False)
    spanwise.uninstrument()
    spanwise.instrument(tracer_provider=provider, span_exporter=made)
    huge = "z" * 5 * 2**20
    with spanwise.conversation("c-1"):
        span = provider.get_tracer("program").start_span("n" + huge, attributes={"large": "whole"})
        span.add_event("e" + huge)
        span.set_status(Status(StatusCode.ERROR, huge))
        span.end()
    spanwise.uninstrument()
    (found,) = store.reader().spans("c-1")
    assert ("whole", ["e" + "z" * 1023]) == (found.attributes["large"], [event.name for event in found.events])


TEXTS = {
    "50000": "a" * 50_000,
    "65535": "b" * 65_535,
    "65536": "c" * 65_536,
    "300000": "d" * 300_000,
    "65536 of four bytes": "\U0001f600" * 65_536,
    "5000001 of one and four bytes": "e" + "\U0001f600" * 1_250_000,
}


def test_a_text_arrives_whole_or_is_cut_between_two_characters(bound: Bound, store: Store) -> None:
    texts = list(TEXTS.values())
    send(sender(bound, GRPC), *texts)
    found = arrived(store)
    assert [(text, None) for text in texts[:-1]] == [found[number] for number in range(5)]
    kept, mark = found[5]
    assert (texts[5][: len(kept)], len(texts[5])) == (kept, mark)
    assert 3_000_000 < len(kept.encode()) < 5_000_001


def answered(_request: httpx2.Request) -> httpx2.Response:
    time.sleep(0.5)  # no model reads that much in less, and ours is done meanwhile
    return httpx2.Response(200, json=completion())


def asked(text: str, *, capture: bool | None) -> float:
    """The median time of a call with ``text``; without us where ``capture`` is None."""
    transport = httpx2.MockTransport(answered)
    client = openai.OpenAI(base_url="http://model/v1", api_key="k", http_client=httpx2.Client(transport=transport))
    spanwise.uninstrument()
    if capture is not None:
        provider, memory = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
        spanwise.instrument(tracer_provider=provider, span_exporter=memory, capture_content=capture)
    took = []
    for _ in range(3):
        began = time.perf_counter()
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
        took.append(time.perf_counter() - began)
    spanwise.uninstrument()
    return statistics.median(took)


def test_a_message_of_12_mb_whose_content_is_captured_slows_its_call_by_less_than_200_ms() -> None:
    text = "one two three " * (12_000_000 // 14)
    assert asked(text, capture=True) - asked(text, capture=None) < 0.2
