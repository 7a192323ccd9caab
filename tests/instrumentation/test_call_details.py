"""What a call tells beyond tokens: the service's own words for failures and caching, and time spent in the client."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any

import openai
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.instrumentation.model import (
    ModelServer,
    Reply,
    completion,
    normal_chunks,
    response,
    response_events,
)

from spanwise import semconv
from spanwise.openai import study

MESSAGES: Any = [{"role": "user", "content": "hi"}]


@pytest.fixture
def client(model: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=model.url, api_key="k", max_retries=0) as made:
        yield made


def chat(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(model="m", messages=MESSAGES, **more)


def only(exporter: InMemorySpanExporter) -> dict[str, Any]:
    return dict(only_span(exporter).attributes or {})


def only_span(exporter: InMemorySpanExporter) -> ReadableSpan:
    (span,) = [
        span for span in exporter.get_finished_spans() if semconv.GEN_AI_OPERATION_NAME in (span.attributes or {})
    ]
    return span


# --- failures -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": "context_length_exceeded", "type": "invalid_request_error"}, "context_length_exceeded"),
        ({"code": None, "type": "invalid_request_error"}, "invalid_request_error"),
        ({"code": 1301}, "1301"),
        ({"code": "Your key sk-secret is wrong"}, None),
        ({"code": "x" * 65}, None),
        ({"code": {"a": 1}, "type": ["b"]}, None),
        ({}, None),
    ],
)
def test_a_failure_is_called_by_the_services_own_word_and_by_no_sentence(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI, error: Mapping[str, Any],
    expected: str | None,
) -> None:  # fmt: skip
    model.replies = [Reply({"error": {"message": "no", **error}}, status=400, headers={"x-request-id": "req-9"})]
    with pytest.raises(openai.BadRequestError):
        chat(client)
    found = only(exporter)
    assert expected == found.get(semconv.ERROR_CODE)
    assert (400, "req-9") == (found[semconv.HTTP_RESPONSE_STATUS_CODE], found[semconv.RESPONSE_REQUEST_ID])


def test_an_error_in_the_midst_of_a_stream_is_called_so(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    failed = {"error": {"message": "no", "type": "server_error", "code": "overloaded"}}
    model.replies = [Reply(events=[*normal_chunks()[:2], failed])]
    with pytest.raises(openai.APIError):
        list(chat(client, stream=True))
    found = only(exporter)
    assert ("openai.APIError", "overloaded") == (found[semconv.ERROR_TYPE], found[semconv.ERROR_CODE])
    assert 200 == found[semconv.HTTP_RESPONSE_STATUS_CODE]


def test_a_call_that_ran_out_of_time_says_so(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(completion(), pauses=[1.0])]
    with pytest.raises(openai.APITimeoutError):
        chat(client, timeout=0.2)
    found = only(exporter)
    assert ("openai.APITimeoutError", True) == (found[semconv.ERROR_TYPE], found[semconv.TIMED_OUT])
    assert semconv.CANCELLED not in found


def test_a_failed_answer_of_the_responses_api_has_its_code_and_its_status(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(response(status="failed", error={"code": "rate_limit_exceeded", "message": "no"}))]
    client.responses.create(model="m", input="hi")
    found = only(exporter)
    assert "failed" == found[semconv.RESPONSE_STATUS]
    assert {"rate_limit_exceeded"} == {found[semconv.ERROR_TYPE], found[semconv.ERROR_CODE]}


# --- the prompt cache -----------------------------------------------------------------------------------------------
MISS = {"type": "cache_miss", "reason": "tools_changed", "cache_missed_tokens": 900, "comparison_reusable_tokens": 64}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("diagnosis", [MISS, {"type": "cache_hit"}])
def test_the_service_says_why_its_prompt_cache_did_or_did_not_help(
    *, exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI, streamed: bool,
    diagnosis: Mapping[str, Any],
) -> None:  # fmt: skip
    answer = response(prompt_cache_diagnostics=diagnosis)
    events = [*response_events()[:-1], response_events()[-1] | {"response": answer}]
    model.replies = [Reply(events=events) if streamed else Reply(answer)]
    made: Any = client.responses.create(model="m", input="hi", stream=streamed)
    _ = list(made)
    names = {
        "type": semconv.PROMPT_CACHE_RESULT,
        "reason": semconv.PROMPT_CACHE_REASON,
        "cache_missed_tokens": semconv.PROMPT_CACHE_MISSED_TOKENS,
        "comparison_reusable_tokens": semconv.PROMPT_CACHE_REUSABLE_TOKENS,
    }
    found = only(exporter)
    assert diagnosis == {key: found[name] for key, name in names.items() if name in found}


# --- time in the client -------------------------------------------------------------------------------------------
class SlowToBegin(openai.OpenAI):
    """Does some work before it sends, as a client that fetches a token does."""

    def _prepare_options(self, options: Any) -> Any:
        time.sleep(0.05)
        return super()._prepare_options(options)


def test_time_before_the_first_http_request_is_the_clients_own(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    model.replies = [Reply({}, status=500, headers={"retry-after-ms": "1"}), Reply(completion())]
    with SlowToBegin(base_url=model.url, api_key="k", max_retries=1) as client:
        chat(client)
    (first,) = [span for span in exporter.get_finished_spans() if span.name == "chat.attempt 1"]
    before = ((first.start_time or 0) - (only_span(exporter).start_time or 0)) / 1e9
    assert 0.05 <= only(exporter)[semconv.CLIENT_PREPARE_TIME] == pytest.approx(before, abs=0.03)


def test_time_that_the_sdk_takes_to_parse_is_told_apart(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    process: Any = openai.OpenAI._process_response_data

    def slowly(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.05)
        return process(*args, **kwargs)

    monkeypatch.setattr(openai.OpenAI, "_process_response_data", slowly)
    model.replies = [Reply(events=normal_chunks())]
    list(chat(client, stream=True))
    found = only(exporter)
    assert 0.05 <= found[semconv.CLIENT_PARSE_TIME] <= found[semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK]


# --- faults of ours -----------------------------------------------------------------------------------------------
@pytest.fixture
def faulty(exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Requests cannot be read, as in a program where nobody tests us."""

    def fail(*_: Any) -> Any:
        raise LookupError("planted")

    monkeypatch.setenv("SPANWISE_RAISE", "0")
    monkeypatch.setattr("spanwise.safety._seen", set())  # each fault is told of once in a process
    monkeypatch.setattr(study, "prompt", fail)
    return exporter


@pytest.mark.parametrize("streamed", [False, True])
def test_a_request_that_we_cannot_read_is_answered_all_the_same_and_told_of_once(
    *, faulty: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI, streamed: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    model.replies = [Reply(events=normal_chunks()) if streamed else Reply(completion())]
    with caplog.at_level(logging.WARNING, "spanwise"):
        for _ in range(3):
            assert list(chat(client, stream=streamed))
    assert 1 == len([record for record in caplog.records if record.name == "spanwise"])
    spans = [span for span in faulty.get_finished_spans() if span.name == "chat m"]
    assert [10] * 3 == [(span.attributes or {})[semconv.GEN_AI_USAGE_INPUT_TOKENS] for span in spans]
