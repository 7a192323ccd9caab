"""Streamed answers that are complete before anybody reads them, as caching and replaying transports give them."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import openai
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.instrumentation.model import USAGE, chunk, normal_chunks

from spanwise import semconv

REQUEST: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
# The library that the SDK's own clients are made of.
http_library: Any = importlib.import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
Events = Sequence[Mapping[str, Any]]


def transport(events: Events, *, kind: str = "text/event-stream", body: bytes | None = None) -> Any:
    data = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    content = data.encode() if body is None else body
    return http_library.MockTransport(
        lambda _: http_library.Response(200, headers={"content-type": kind}, content=content)
    )


def client(events: Events, **changes: Any) -> openai.OpenAI:
    http = http_library.Client(transport=transport(events, **changes))
    return openai.OpenAI(base_url="http://model/v1", api_key="k", max_retries=0, http_client=http)


def async_client(events: Events) -> openai.AsyncOpenAI:
    http = http_library.AsyncClient(transport=transport(events))
    return openai.AsyncOpenAI(base_url="http://model/v1", api_key="k", max_retries=0, http_client=http)


def only_call(exporter: InMemorySpanExporter) -> ReadableSpan:
    (span,) = [span for span in exporter.get_finished_spans() if span.name == "chat m"]
    return span


def found(exporter: InMemorySpanExporter) -> dict[str, Any]:
    return dict(only_call(exporter).attributes or {})


def usage(exporter: InMemorySpanExporter) -> tuple[Any, Any]:
    told = found(exporter)
    return told.get(semconv.GEN_AI_USAGE_INPUT_TOKENS), told.get(semconv.GEN_AI_USAGE_OUTPUT_TOKENS)


def test_a_stream_read_to_its_end_tells_all(exporter: InMemorySpanExporter) -> None:
    pieces = list(client(normal_chunks()).chat.completions.create(**REQUEST))
    told = found(exporter)
    assert len(pieces) == 6
    assert usage(exporter) == (10, 5)
    assert told[semconv.GEN_AI_RESPONSE_FINISH_REASONS] == ("stop",)
    assert told[semconv.RESPONSE_TIME_TO_FIRST_CONTENT] >= told[semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] > 0
    assert told[semconv.RESPONSE_BYTES] > 500
    assert semconv.INCOMPLETE not in told


def leave_by_break(made: openai.OpenAI) -> None:
    with made.chat.completions.create(**REQUEST) as answer:
        for _ in answer:
            break


def leave_by_close(made: openai.OpenAI) -> None:
    answer = made.chat.completions.create(**REQUEST)
    next(answer)
    answer.close()
    answer.close()


def leave_by_return(made: openai.OpenAI) -> None:
    for _ in made.chat.completions.create(**REQUEST):
        return


def leave_unread(made: openai.OpenAI) -> None:
    made.chat.completions.create(**REQUEST)


@pytest.mark.parametrize("leave", [leave_by_break, leave_by_close, leave_by_return, leave_unread])
def test_a_stream_left_early_is_one_incomplete_span(
    leave: Callable[[openai.OpenAI], None], exporter: InMemorySpanExporter
) -> None:
    """D-01, synchronous."""
    leave(client(normal_chunks()))
    gc.collect()
    assert found(exporter)[semconv.INCOMPLETE] is True
    assert (semconv.GEN_AI_RESPONSE_ID in found(exporter)) is (leave is not leave_unread)
    assert only_call(exporter).status.status_code is StatusCode.UNSET


async def leave_by_async_break(made: openai.AsyncOpenAI) -> None:
    async with await made.chat.completions.create(**REQUEST) as answer:
        async for _ in answer:
            break


async def leave_by_async_close(made: openai.AsyncOpenAI) -> None:
    answer = await made.chat.completions.create(**REQUEST)
    await anext(answer)
    await answer.close()
    await answer.close()


async def leave_by_async_return(made: openai.AsyncOpenAI) -> None:
    async for _ in await made.chat.completions.create(**REQUEST):
        return


@pytest.mark.parametrize("leave", [leave_by_async_break, leave_by_async_close, leave_by_async_return])
async def test_an_asynchronous_stream_left_early_is_one_incomplete_span(
    leave: Callable[[openai.AsyncOpenAI], Any], exporter: InMemorySpanExporter
) -> None:
    """D-01, asynchronous."""
    await leave(async_client(normal_chunks()))
    # The event loop closes what was dropped in its own next rounds.
    for _ in range(20):
        if "chat m" not in [span.name for span in exporter.get_finished_spans()]:
            gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)
    assert found(exporter)[semconv.INCOMPLETE] is True
    assert only_call(exporter).status.status_code is StatusCode.UNSET


async def test_an_asynchronous_stream_keeps_all_of_its_parts(exporter: InMemorySpanExporter) -> None:
    """D-06."""
    async with await async_client(normal_chunks()).chat.completions.create(**REQUEST) as answer:
        assert isinstance(answer, openai.AsyncStream)
        assert answer.response.status_code == 200
        assert len([piece async for piece in answer]) == 6
        await answer.close()
    assert usage(exporter) == (10, 5)
    assert semconv.INCOMPLETE not in found(exporter)


def null_delta() -> list[dict[str, Any]]:
    events = normal_chunks()
    return [*events[:3], chunk(None), *events[3:]]


def annotated() -> list[dict[str, Any]]:
    annotation = {"id": "", "object": "", "model": "", "choices": []}
    return [annotation, chunk({"content": "Hi"}), chunk({}, "stop"), chunk(None, choices=[], usage=USAGE), annotation]


@pytest.mark.parametrize("events", [null_delta(), annotated()])
async def test_odd_chunks_hide_nothing(exporter: InMemorySpanExporter, events: Events) -> None:
    """D-09 and D-15, of either kind."""
    assert len(list(client(events).chat.completions.create(**REQUEST))) == len(events)
    assert usage(exporter) == (10, 5)
    assert found(exporter)[semconv.GEN_AI_RESPONSE_ID] == "chatcmpl-1"
    exporter.clear()
    answer = await async_client(events).chat.completions.create(**REQUEST)
    assert len([piece async for piece in answer]) == len(events)
    assert usage(exporter) == (10, 5)


@pytest.mark.parametrize("parsed", [True, False])
def test_a_raw_answer_is_read_as_events_and_not_as_json(
    exporter: InMemorySpanExporter,
    caplog: pytest.LogCaptureFixture,
    parsed: bool,  # noqa: FBT001 - a case of the test
) -> None:
    """D-05; whether the program parses it or not, it came as a whole."""
    with caplog.at_level(logging.WARNING, "spanwise"):
        raw = client(normal_chunks()).chat.completions.with_raw_response.create(**REQUEST)
        if parsed:
            assert len(list(raw.parse())) == 6
    assert usage(exporter) == (10, 5)
    assert semconv.INCOMPLETE not in found(exporter)
    assert [record for record in caplog.records if record.name == "spanwise"] == []


def test_a_raw_answer_that_is_no_json_ends_its_span_all_the_same(
    exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    made = client([], kind="application/json", body=b"<html>")
    with caplog.at_level(logging.WARNING, "spanwise"):
        made.chat.completions.with_raw_response.create(**{**REQUEST, "stream": False})
    assert found(exporter)[semconv.RESPONSE_BYTES] == 6
    assert [record for record in caplog.records if record.name == "spanwise"] == []
