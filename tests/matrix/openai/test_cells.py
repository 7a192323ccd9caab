"""Every way to call a model, over every HTTP library, with every ending: one span each, and nothing else changes."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tests.matrix.openai import asynchronous, synchronous
from tests.matrix.openai.answers import TOKENS
from tests.matrix.openai.cells import Cell, cells
from tests.matrix.openai.clients import AIOHTTP, make
from tests.matrix.openai.outcomes import OUTCOMES, Outcome
from tests.matrix.openai.record import Record
from tests.matrix.openai.service import Service
from tests.matrix.openai.ways import WAYS, Way

import spanwise
from spanwise import semconv
from spanwise.spanscope import error_type


def played(cell: Cell, service: Service) -> Record:
    record, way, outcome = Record(), WAYS[cell.way], OUTCOMES[cell.outcome]
    with service.playing(outcome.script(way)):
        if cell.asynchronous:
            asyncio.run(_asynchronously(cell, service, record))
        else:
            client = make(cell.vendor, cell.backend, outcome, service.url, asynchronous=False)
            synchronous.play(client, way, outcome, record)
        # Whether aiohttp keeps a connection depends on how much of a refusal has come when the SDK turns it down.
        record.served(service, countable=cell.backend != AIOHTTP or outcome.attempts == 1)
    return record


async def _asynchronously(cell: Cell, service: Service, record: Record) -> None:
    way, outcome = WAYS[cell.way], OUTCOMES[cell.outcome]
    client = make(cell.vendor, cell.backend, outcome, service.url, asynchronous=True)
    await asynchronous.play(client, way, outcome, record, service)


def instrumented(cell: Cell, service: Service, provider: TracerProvider) -> Record:
    spanwise.instrument(tracer_provider=provider, mcp=False)
    try:
        return played(cell, service)
    finally:
        spanwise.uninstrument()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.mark.parametrize("cell", cells(), ids=str)
def test_a_call_is_one_span_and_the_program_sees_no_difference(
    cell: Cell, service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    plain = played(cell, service)
    assert exporter.get_finished_spans() == ()
    traced = instrumented(cell, service, provider)
    assert plain.notes == traced.notes
    spans = exporter.get_finished_spans()
    check_spans(cell, spans)
    (call,) = [span for span in spans if semconv.GEN_AI_OPERATION_NAME in attributes(span)]
    check_ending(call, WAYS[cell.way], OUTCOMES[cell.outcome], traced.error)


def check_spans(cell: Cell, spans: tuple[ReadableSpan, ...]) -> None:
    """One span a call, one for each HTTP request, one for each attempt where there are several; each ended once."""
    way, outcome = WAYS[cell.way], OUTCOMES[cell.outcome]
    expected = Counter({f"{way.operation} m": 1})
    if cell.backend != AIOHTTP:  # the official instrumentors know httpx and httpx2 only
        expected["POST"] = outcome.attempts
    if outcome.attempts > 1:
        expected.update(f"chat.attempt {number}" for number in range(1, outcome.attempts + 1))
    assert expected == Counter(span.name for span in spans)
    assert len(spans) == len({span.context.span_id for span in spans if span.context})
    (call,) = [span for span in spans if span.name == f"{way.operation} m"]
    assert all(span.parent == call.context for span in spans if span is not call)
    check_attempts([span for span in spans if span.name.startswith("chat.attempt")], outcome)


def check_attempts(attempts: list[ReadableSpan], outcome: Outcome) -> None:
    failed = [span.status.status_code is StatusCode.ERROR for span in attempts]
    assert failed == [True] * (len(attempts) - 1) + [outcome.fails] * (len(attempts) > 0)


def check_ending(call: ReadableSpan, way: Way, outcome: Outcome, error: BaseException | None) -> None:
    found = attributes(call)
    assert (SpanKind.CLIENT, outcome.attempts) == (call.kind, found[semconv.RETRY_ATTEMPTS])
    assert (True if outcome.cancel else None) == found.get(semconv.CANCELLED)
    assert (True if outcome.cancel or outcome.leave else None) == found.get(semconv.INCOMPLETE)
    if outcome.fails:
        assert error is not None
        assert (StatusCode.ERROR, error_type(error)) == (call.status.status_code, found.get(semconv.ERROR_TYPE))
    else:
        assert (StatusCode.UNSET, None) == (call.status.status_code, found.get(semconv.ERROR_TYPE))
    if outcome.reachable:
        assert (outcome.attempts > 1 or found[semconv.CONNECTION_NEW]) is True
    check_answer(found, way, outcome)


def check_answer(found: dict[str, Any], way: Way, outcome: Outcome) -> None:
    complete = not (outcome.fails or outcome.cancel or outcome.leave)
    tokens = found.get(semconv.GEN_AI_USAGE_INPUT_TOKENS), found.get(semconv.GEN_AI_USAGE_OUTPUT_TOKENS)
    assert (TOKENS[way.api] if complete else (None, None)) == tokens
    if complete:
        assert (True if way.streamed else None) == found.get(semconv.GEN_AI_REQUEST_STREAM)
        assert way.streamed == (semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK in found)
        assert found[semconv.RESPONSE_REQUEST_ID] == "req-1"
        assert found[semconv.CLIENT_PREPARE_TIME] > 0
