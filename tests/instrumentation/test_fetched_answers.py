"""Answers that are asked for again: each fetch is a span, and tokens are counted once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from tests.instrumentation.model import ModelServer, Reply, response, response_events

from spanwise import semconv
from spanwise.openai import promises

QUEUED: dict[str, Any] = {"status": "queued", "output": [], "usage": None, "background": True}
WORKING = QUEUED | {"status": "in_progress"}


@pytest.fixture
def client(model: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=model.url, api_key="k", max_retries=0) as made:
        yield made


def calls(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if semconv.GEN_AI_OPERATION_NAME in (span.attributes or {})]


def told(exporter: InMemorySpanExporter, name: str) -> list[Any]:
    return [(span.attributes or {}).get(name) for span in calls(exporter)]


def test_an_answer_that_is_waited_for_counts_its_tokens_where_it_is_first_seen(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    done = response(background=True)
    model.replies = [Reply(response(**QUEUED)), Reply(response(**WORKING)), Reply(done), Reply(done)]
    answer = client.responses.create(model="m", input="hi", background=True)
    for _ in range(3):
        client.responses.retrieve(answer.id)
    assert ["chat m", *["fetch_response"] * 3] == [span.name for span in calls(exporter)]
    assert ["queued", "in_progress", "completed", "completed"] == told(exporter, semconv.RESPONSE_STATUS)
    assert [None, None, 100, None] == told(exporter, semconv.GEN_AI_USAGE_INPUT_TOKENS)
    assert [True] * 4 == told(exporter, semconv.RESPONSE_BACKGROUND)
    assert ["resp_1"] * 4 == told(exporter, semconv.GEN_AI_RESPONSE_ID)
    assert {SpanKind.CLIENT} == {span.kind for span in calls(exporter)}
    assert [None] * 4 == told(exporter, semconv.INCOMPLETE)


def test_tokens_of_a_whole_answer_are_not_counted_again_when_it_is_fetched(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(response())]
    client.responses.retrieve(client.responses.create(model="m", input="hi").id)
    assert [100, None] == told(exporter, semconv.GEN_AI_USAGE_INPUT_TOKENS)


def test_a_stream_that_is_resumed_has_its_own_first_moments_and_the_tokens(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    first = response_events()[0] | {"response": response(**WORKING)}
    model.replies = [Reply(events=[first]), Reply(events=response_events()[1:])]
    with client.responses.create(model="m", input="hi", background=True, stream=True) as stream:
        next(stream)
    list(client.responses.retrieve("resp_1", stream=True, starting_after=0))
    assert [True, None] == told(exporter, semconv.INCOMPLETE)
    assert [None, 100] == told(exporter, semconv.GEN_AI_USAGE_INPUT_TOKENS)
    assert [True, True] == told(exporter, semconv.GEN_AI_REQUEST_STREAM)
    assert [False, True] == [value is not None for value in told(exporter, semconv.RESPONSE_TIME_TO_FIRST_CONTENT)]


async def test_an_asynchronous_fetch_is_a_span_and_an_error_is_an_error(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    model.replies = [Reply({"error": {"message": "gone", "code": "not_found"}}, status=404)]
    async with openai.AsyncOpenAI(base_url=model.url, api_key="k", max_retries=0) as client:
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve("resp_2")
    assert ["openai.NotFoundError"] == told(exporter, semconv.ERROR_TYPE)
    assert ["not_found"] == told(exporter, semconv.ERROR_CODE)


def test_a_pass_that_compacts_a_conversation_is_a_call_with_tokens(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}
    answer = {"id": "resp_3", "object": "response.compaction", "created_at": 1, "output": [item]}
    model.replies = [Reply(answer | {"usage": response()["usage"]})]
    client.responses.compact(model="m", input="hi")
    assert (["chat m"], [100]) == (
        [span.name for span in calls(exporter)],
        told(exporter, semconv.GEN_AI_USAGE_INPUT_TOKENS),
    )


def test_lists_and_parts_of_answers_are_no_fetches(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply({"object": "list", "data": [], "has_more": False})]
    list(client.responses.input_items.list("resp_1"))
    list(client.models.list())
    assert [] == calls(exporter)


def test_promises_are_forgotten_beyond_a_limit() -> None:
    for number in range(promises.MAX_PENDING + 1):
        promises.began(f"promised-{number}")
    assert (False, True, False) == tuple(promises.came(f"promised-{number}") for number in (0, 1, 1))
