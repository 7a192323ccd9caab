"""Streamed answers: what the program gets is what the SDK gives, and each call is one span that ends with its work."""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import openai
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.instrumentation.model import USAGE, ModelServer, Reply, chunk, normal_chunks, response_events

from spanwise import semconv
from spanwise.openai.chat import ChatReader
from spanwise.spanscope import error_type

MESSAGES: Any = [{"role": "user", "content": "hi"}]


@contextmanager
def client(model: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=model.url, api_key="k", max_retries=0) as made:
        yield made


@asynccontextmanager
async def async_client(model: ModelServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=model.url, api_key="k", max_retries=0) as made:
        yield made


def stream(made: openai.OpenAI) -> openai.Stream[Any]:
    return made.chat.completions.create(model="m", messages=MESSAGES, stream=True)


async def async_stream(made: openai.AsyncOpenAI) -> openai.AsyncStream[Any]:
    return await made.chat.completions.create(model="m", messages=MESSAGES, stream=True)


def call_spans(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name.startswith("chat m")]


def only_call(exporter: InMemorySpanExporter) -> dict[str, Any]:
    (span,) = call_spans(exporter)
    return dict(span.attributes or {})


def test_a_stream_read_to_its_end_is_one_span_with_both_first_moments(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    """The role chunk is an event and no content."""
    model.replies = [Reply(events=normal_chunks()), Reply(events=normal_chunks(), pauses=[0.0, 0.05])]
    with client(model) as made:
        list(stream(made))  # the SDK's first call builds its types
        exporter.clear()
        text = "".join(
            piece.choices[0].delta.content or "" for piece in stream(made) if piece.choices and piece.choices[0].delta
        )
    found = only_call(exporter)
    assert text == "Hello you"
    assert found[semconv.GEN_AI_REQUEST_STREAM] is True
    assert found[semconv.RESPONSE_TIME_TO_FIRST_CONTENT] - found[semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] > 0.04
    assert found[semconv.GEN_AI_RESPONSE_FINISH_REASONS] == ("stop",)
    assert semconv.INCOMPLETE not in found


def test_the_span_covers_the_body_and_not_only_the_headers(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    """D-04."""
    model.replies = [Reply(events=normal_chunks(), pauses=[0.05] * 6)]
    with client(model) as made:
        list(stream(made))
    (span,) = call_spans(exporter)
    assert (span.end_time or 0) - (span.start_time or 0) > 290_000_000


def leave_by_break(made: openai.OpenAI) -> None:
    with stream(made) as answer:
        for _ in answer:
            break


def leave_by_close(made: openai.OpenAI) -> None:
    answer = stream(made)
    next(answer)
    answer.close()
    answer.close()


def leave_by_return(made: openai.OpenAI) -> None:
    for _ in stream(made):
        return


def leave_unread(made: openai.OpenAI) -> None:
    stream(made)


@pytest.mark.parametrize("leave", [leave_by_break, leave_by_close, leave_by_return, leave_unread])
def test_a_stream_left_early_is_one_incomplete_span_without_error(
    leave: Callable[[openai.OpenAI], None], exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    """D-01, synchronous."""
    model.replies = [Reply(events=normal_chunks())]
    with client(model) as made:
        leave(made)
        gc.collect()
        (span,) = call_spans(exporter)
    found = dict(span.attributes or {})
    assert found[semconv.INCOMPLETE] is True
    assert span.status.status_code is StatusCode.UNSET
    assert (semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK in found) is (leave is not leave_unread)


async def leave_by_async_break(made: openai.AsyncOpenAI) -> None:
    async with await async_stream(made) as answer:
        async for _ in answer:
            break


async def leave_by_async_close(made: openai.AsyncOpenAI) -> None:
    answer = await async_stream(made)
    await anext(answer)
    await answer.close()
    await answer.close()


async def leave_by_async_return(made: openai.AsyncOpenAI) -> None:
    async for _ in await async_stream(made):
        return


@pytest.mark.parametrize("leave", [leave_by_async_break, leave_by_async_close, leave_by_async_return])
async def test_an_asynchronous_stream_left_early_is_one_incomplete_span(
    leave: Callable[[openai.AsyncOpenAI], Any], exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    """D-01, asynchronous."""
    model.replies = [Reply(events=normal_chunks())]
    async with async_client(model) as made:
        await leave(made)
        # The event loop closes what was dropped in its own next rounds.
        for _ in range(20):
            if not call_spans(exporter):
                gc.collect()
            for _ in range(5):
                await asyncio.sleep(0)
        (span,) = call_spans(exporter)
    assert dict(span.attributes or {})[semconv.INCOMPLETE] is True
    assert span.status.status_code is StatusCode.UNSET


def test_the_text_so_far_of_a_stream_left_early_is_kept_where_content_is(
    exporter: InMemorySpanExporter, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D-01: with the text so far."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    model.replies = [Reply(events=normal_chunks())]
    with client(model) as made, stream(made) as answer:
        next(answer)
        next(answer)
    assert only_call(exporter)[semconv.GEN_AI_OUTPUT_MESSAGES] == '[{"role":"assistant","content":"Hel"}]'


def test_a_stream_that_breaks_is_an_error_and_the_program_gets_the_sdks_own(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    model.replies = [Reply(events=normal_chunks()[:3], cut=True)]
    # Up to 2.x the SDK lets the HTTP library's own exception through.
    with client(model) as made, pytest.raises(Exception, match=r"Connection error|peer closed") as raised:
        list(stream(made))
    (span,) = call_spans(exporter)
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {})[semconv.ERROR_TYPE] == error_type(raised.value)


def test_a_raw_response_keeps_its_types_when_streamed(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    """D-05, synchronous."""
    model.replies = [Reply(events=normal_chunks())]
    with client(model) as made:
        raw = made.chat.completions.with_raw_response.create(model="m", messages=MESSAGES, stream=True)
        answer = raw.parse()
        pieces = list(answer)
    assert (type(raw).__name__, type(answer), len(pieces)) == ("LegacyAPIResponse", openai.Stream, 6)
    assert raw.headers["content-type"] == "text/event-stream"
    assert only_call(exporter)[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 10


async def test_an_asynchronous_raw_response_keeps_its_types(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    """D-05, asynchronous."""
    model.replies = [Reply(events=normal_chunks())]
    async with async_client(model) as made:
        raw = await made.chat.completions.with_raw_response.create(model="m", messages=MESSAGES, stream=True)
        answer = raw.parse()
        pieces = [piece async for piece in answer]
    assert (type(raw).__name__, type(answer), len(pieces)) == ("LegacyAPIResponse", openai.AsyncStream, 6)
    assert only_call(exporter)[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 10


def test_a_streaming_response_read_line_by_line_is_understood(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    model.replies = [Reply(events=normal_chunks())]
    with (
        client(model) as made,
        made.chat.completions.with_streaming_response.create(model="m", messages=MESSAGES, stream=True) as raw,
    ):
        lines = list(raw.iter_lines())
    found = only_call(exporter)
    assert lines[-2:] == ["data: [DONE]", ""]
    assert (found[semconv.GEN_AI_USAGE_INPUT_TOKENS], found[semconv.GEN_AI_USAGE_OUTPUT_TOKENS]) == (10, 5)
    assert found[semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] > 0
    assert semconv.RESPONSE_TIME_TO_FIRST_CONTENT not in found


async def test_an_asynchronous_stream_is_a_context_manager_with_all_of_its_parts(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    """D-06."""
    model.replies = [Reply(events=normal_chunks())]
    async with async_client(model) as made, await async_stream(made) as answer:
        assert answer.response.status_code == 200
        assert len([piece async for piece in answer]) == 6
        await answer.close()
    assert semconv.INCOMPLETE not in only_call(exporter)


def test_a_stream_is_the_sdks_own_object(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    """D-07: isinstance, and copies of what the SDK's class has."""
    model.replies = [Reply(events=normal_chunks())]
    with client(model) as made, stream(made) as answer:
        assert isinstance(answer, openai.Stream)
        assert copy.copy(answer).response is answer.response
    assert len(call_spans(exporter)) == 1


def test_a_fault_of_ours_never_reaches_the_program(
    exporter: InMemorySpanExporter,
    model: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """D-07: the answer arrives although reading it fails, and one warning is logged for all chunks."""
    monkeypatch.setenv("SPANWISE_RAISE", "0")
    monkeypatch.setattr(ChatReader, "piece", lambda _self, _chunk: 1 / 0)
    model.replies = [Reply(events=normal_chunks())]
    with caplog.at_level(logging.WARNING, "spanwise"), client(model) as made:
        pieces = list(stream(made))
    assert len(pieces) == 6
    assert len([record for record in caplog.records if record.name == "spanwise"]) == 1
    assert len(call_spans(exporter)) == 1


def test_a_null_delta_passes_through(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    """D-09."""
    events = normal_chunks()
    model.replies = [Reply(events=[*events[:3], chunk(None), *events[3:]])]
    with client(model) as made:
        pieces = list(stream(made))
    assert [piece.choices[0].delta for piece in pieces[3:4]] == [None]
    assert len(pieces) == 7
    assert only_call(exporter)[semconv.GEN_AI_USAGE_OUTPUT_TOKENS] == 5


def test_azures_annotation_chunks_hide_nothing(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    """D-15: the first event tells nothing, the first content comes from the first text."""
    annotation = {"id": "", "object": "", "model": "", "choices": []}
    events = [annotation, chunk({"content": "Hi"}), chunk({}, "stop"), chunk(None, choices=[], usage=USAGE), annotation]
    model.replies = [Reply(events=events, pauses=[0.0, 0.05])]
    with client(model) as made:
        list(stream(made))
    found = only_call(exporter)
    assert (found[semconv.GEN_AI_RESPONSE_ID], found[semconv.GEN_AI_RESPONSE_MODEL]) == ("chatcmpl-1", "m-2026")
    assert (found[semconv.GEN_AI_USAGE_INPUT_TOKENS], found[semconv.GEN_AI_USAGE_OUTPUT_TOKENS]) == (10, 5)
    assert found[semconv.RESPONSE_TIME_TO_FIRST_CONTENT] > 0.05


def test_tool_calls_are_put_together_from_their_pieces(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    def piece(index: int, **call: Any) -> dict[str, Any]:
        return chunk({"tool_calls": [{"index": index, **call}]})

    model.replies = [
        Reply(
            events=[
                piece(0, id="call_a", type="function", function={"name": "lookup", "arguments": ""}),
                piece(0, function={"arguments": '{"id":'}),
                piece(0, function={"arguments": "1}"}),
                piece(1, id="call_b", type="function", function={"name": "refund", "arguments": "{}"}),
                chunk({}, "tool_calls"),
            ],
            pauses=[0.0, 0.05],
        )
    ]
    with client(model) as made:
        list(stream(made))
    found = only_call(exporter)
    assert found[semconv.TOOL_CALL_IDS] == ("call_a", "call_b")
    assert found[semconv.TOOL_CALL_NAMES] == ("lookup", "refund")
    assert found[semconv.TOOL_CALLS_IN_RESPONSE] == 2
    assert found[semconv.RESPONSE_TIME_TO_FIRST_CONTENT] > 0.05


def test_first_content_of_the_responses_api_is_the_first_delta_and_not_the_first_event(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    slow = Reply(events=response_events(), pauses=[0.0, 0.03, 0.03, 0.03])
    model.replies = [Reply(events=response_events()), slow]
    with client(model) as made:
        list(made.responses.create(model="m", input="hi", stream=True))  # the SDK's first call builds its types
        exporter.clear()
        list(made.responses.create(model="m", input="hi", stream=True))
    found = only_call(exporter)
    assert found[semconv.RESPONSE_TIME_TO_FIRST_CONTENT] - found[semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] > 0.08
    assert found[semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS] == 64


@pytest.mark.parametrize("complete", [True, False])
def test_the_sdks_stream_helpers_are_one_span(
    complete: bool,  # noqa: FBT001 - a case of the test
    exporter: InMemorySpanExporter,
    model: ModelServer,
) -> None:
    model.replies = [Reply(events=normal_chunks())]
    with client(model) as made, made.chat.completions.stream(model="m", messages=MESSAGES) as answer:
        for _ in answer:
            if not complete:
                break
    found = only_call(exporter)
    assert found.get(semconv.INCOMPLETE) == (None if complete else True)


def test_the_responses_stream_helper_is_one_span(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    model.replies = [Reply(events=response_events())]
    with client(model) as made, made.responses.stream(model="m", input="hi") as answer:
        list(answer)
        assert answer.get_final_response().output_text == "Hello"
    assert only_call(exporter)[semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS] == 3


def test_a_failed_response_event_is_an_error_although_nothing_is_raised(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    error = {"code": "server_error", "message": "no"}
    failed = response_events()[0]["response"] | {"status": "failed", "error": error}
    model.replies = [Reply(events=[{"type": "response.failed", "response": failed, "sequence_number": 0}])]
    with client(model) as made:
        list(made.responses.create(model="m", input="hi", stream=True))
    (span,) = call_spans(exporter)
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {})[semconv.ERROR_TYPE] == "server_error"


async def test_a_cancelled_call_is_cancelled_and_no_failure(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    model.replies = [Reply(events=normal_chunks(), pauses=[0.0, 5.0])]
    async with async_client(model) as made:
        answer = await async_stream(made)
        await anext(answer)
        reading = asyncio.ensure_future(anext(answer))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    (span,) = call_spans(exporter)
    assert dict(span.attributes or {})[semconv.CANCELLED] is True
    assert span.status.status_code is StatusCode.UNSET
