"""Model calls: exactly one CLIENT span for each, whatever way it is made, with what the request and answer tell."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from pydantic import BaseModel
from tests.instrumentation.model import ModelServer, Reply, completion, response, tool_call_message

from spanwise import hashing, semconv

MESSAGES: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]
PIXEL = "data:image/png;base64," + base64.b64encode(b"x" * 300).decode()
PDF = "data:application/pdf;base64," + base64.b64encode(b"%PDF" * 100).decode()


class Verdict(BaseModel):
    """What the model is to answer."""

    ok: bool


@pytest.fixture
def client(model: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=model.url, api_key="k") as made:
        yield made


def calls(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if semconv.GEN_AI_OPERATION_NAME in (span.attributes or {})]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def only(exporter: InMemorySpanExporter) -> dict[str, Any]:
    (span,) = calls(exporter)
    return attributes(span)


def last(exporter: InMemorySpanExporter) -> dict[str, Any]:
    return attributes(calls(exporter)[-1])


def chat(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(model="m", messages=MESSAGES, **more)


def raw(client: openai.OpenAI) -> Any:
    return client.chat.completions.with_raw_response.create(model="m", messages=MESSAGES).parse()


def raw_unparsed(client: openai.OpenAI) -> Any:
    return client.chat.completions.with_raw_response.create(model="m", messages=MESSAGES)


def streaming_response(client: openai.OpenAI) -> Any:
    with client.chat.completions.with_streaming_response.create(model="m", messages=MESSAGES) as answer:
        return answer.json()


@pytest.mark.parametrize("make", [chat, raw, raw_unparsed, streaming_response])
def test_every_way_to_call_is_one_client_span_with_usage(
    make: Callable[[openai.OpenAI], Any], exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(completion(), headers={"openai-processing-ms": "120"})]
    make(client)
    (span,) = calls(exporter)
    found = attributes(span)
    assert (span.name, span.kind, span.status.status_code) == ("chat m", SpanKind.CLIENT, StatusCode.UNSET)
    assert (found[semconv.GEN_AI_USAGE_INPUT_TOKENS], found[semconv.GEN_AI_USAGE_OUTPUT_TOKENS]) == (10, 5)
    assert found[semconv.GEN_AI_RESPONSE_FINISH_REASONS] == ("stop",)
    assert found[semconv.OPENAI_RESPONSE_SERVICE_TIER] == "default"
    assert found[semconv.RESPONSE_SERVER_TIME] == 0.12
    assert found[semconv.RETRY_ATTEMPTS] == 1
    assert semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK not in found
    assert semconv.INCOMPLETE not in found


def test_structured_output_is_one_span_and_its_class_is_not_a_memory_address(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    """D-08, synchronous."""
    model.replies = [Reply(completion('{"ok": true}'))]
    answer = client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Verdict)
    found = only(exporter)
    assert answer.choices[0].message.parsed == Verdict(ok=True)
    assert found[semconv.GEN_AI_OUTPUT_TYPE] == "json"
    assert found[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 10
    assert not [value for value in found.values() if "0x" in str(value)]


async def test_asynchronous_structured_output_is_one_span(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    """D-08, asynchronous."""
    model.replies = [Reply(completion('{"ok": true}'))]
    async with openai.AsyncOpenAI(base_url=model.url, api_key="k") as client:
        await client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Verdict)
    assert only(exporter)[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 10


def test_an_answer_that_cannot_be_parsed_was_paid_for_all_the_same(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    choice = completion("{")["choices"][0] | {"finish_reason": "length"}
    model.replies = [Reply(completion(choices=[choice]))]
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Verdict)
    found = only(exporter)
    assert found[semconv.ERROR_TYPE] == "openai.LengthFinishReasonError"
    assert found[semconv.GEN_AI_USAGE_OUTPUT_TOKENS] == 5


def test_cached_tokens_are_part_of_the_input_and_not_added_to_it(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    """D-16."""
    usage = {
        "prompt_tokens": 20100,
        "completion_tokens": 120,
        "total_tokens": 20220,
        "prompt_tokens_details": {"cached_tokens": 19968},
    }
    model.replies = [Reply(completion(usage=usage))]
    chat(client)
    found = only(exporter)
    assert found[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 20100
    assert found[semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS] == 19968


def test_the_responses_api_is_a_chat_with_all_its_token_counts(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(response())]
    client.responses.create(
        model="m", input="hi", instructions="be brief", max_output_tokens=80, service_tier="priority",
        previous_response_id="resp_0", parallel_tool_calls=False, reasoning={"effort": "low"},
    )  # fmt: skip
    found = only(exporter)
    expected = {
        semconv.OPENAI_API_TYPE: "responses",
        semconv.GEN_AI_USAGE_INPUT_TOKENS: 100,
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 64,
        semconv.GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: 32,
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: 7,
        semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: 3,
        semconv.GEN_AI_REQUEST_MAX_TOKENS: 80,
        semconv.OPENAI_REQUEST_SERVICE_TIER: "priority",
        semconv.OPENAI_RESPONSE_SERVICE_TIER: "default",
        semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: "resp_0",
        semconv.GEN_AI_REQUEST_REASONING_LEVEL: "low",
        semconv.REQUEST_PARALLEL_TOOL_CALLS: False,
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: ("stop",),
    }
    assert {name: found.get(name) for name in expected} == expected


def test_embeddings_are_a_span_of_their_own_operation(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    data = [{"object": "embedding", "index": 0, "embedding": [0.1, 0.2]}]
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    model.replies = [Reply({"object": "list", "model": "e-1", "data": data, "usage": usage})]
    client.embeddings.create(model="e", input="text", encoding_format="float", dimensions=2)
    (span,) = calls(exporter)
    found = attributes(span)
    assert (span.name, found[semconv.GEN_AI_OPERATION_NAME]) == ("embeddings e", "embeddings")
    assert found[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 3
    assert found[semconv.GEN_AI_EMBEDDINGS_DIMENSION_COUNT] == 2


def test_requests_that_call_no_model_give_no_model_span(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply({"id": "vs_1", "object": "vector_store"})]
    client.vector_stores.create(name="x")
    assert calls(exporter) == []


def test_each_attempt_of_a_retried_call_is_a_span_and_the_call_is_one(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    soon = {"retry-after-ms": "30"}
    model.replies = [Reply({}, status=500, headers=soon), Reply({}, status=429, headers=soon), Reply(completion())]
    chat(client)
    (call,) = calls(exporter)
    attempts = [span for span in exporter.get_finished_spans() if span.name.startswith("chat.attempt")]
    statuses = [attributes(span)[semconv.HTTP_RESPONSE_STATUS_CODE] for span in attempts]
    errors = [attributes(span).get(semconv.ERROR_TYPE) for span in attempts]
    assert [span.name for span in attempts] == ["chat.attempt 1", "chat.attempt 2", "chat.attempt 3"]
    assert (statuses, errors) == ([500, 429, 200], ["500", "429", None])
    assert all(span.parent == call.context for span in attempts)
    assert call.status.status_code is StatusCode.UNSET
    found = attributes(call)
    assert found[semconv.RETRY_ATTEMPTS] == 3
    assert 0.06 <= found[semconv.RETRY_BACKOFF] < 1


def test_attempts_enclose_their_http_requests(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply({}, status=500, headers={"retry-after-ms": "1"}), Reply(completion())]
    chat(client)
    attempts = [span for span in exporter.get_finished_spans() if span.name.startswith("chat.attempt")]
    requests = [span for span in exporter.get_finished_spans() if span.name == "POST"]
    for attempt, request in zip(attempts, requests, strict=True):
        assert (attempt.start_time or 0) <= (request.start_time or 0)
        assert (request.end_time or 0) <= (attempt.end_time or 0)


def test_a_refused_call_is_an_error_with_the_sdks_class(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply({"error": {"message": "secret", "code": "bad"}}, status=400)]
    with pytest.raises(openai.BadRequestError):
        chat(client)
    (span,) = calls(exporter)
    found = attributes(span)
    assert span.status.status_code is StatusCode.ERROR
    assert (found[semconv.ERROR_TYPE], found[semconv.HTTP_RESPONSE_STATUS_CODE]) == ("openai.BadRequestError", 400)
    assert "secret" not in str(found) + str(span.status.description)


def test_a_server_that_is_away_is_an_error(exporter: InMemorySpanExporter) -> None:
    nowhere = openai.OpenAI(base_url="http://127.0.0.1:9", api_key="k", max_retries=0)
    with nowhere as client, pytest.raises(openai.APIConnectionError):
        chat(client)
    assert only(exporter)[semconv.ERROR_TYPE] == "openai.APIConnectionError"


async def test_a_call_cancelled_by_its_program_is_marked_and_no_error(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    model.replies = [Reply(completion(), pauses=[0.5])]
    async with openai.AsyncOpenAI(base_url=model.url, api_key="k") as client:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.chat.completions.create(model="m", messages=MESSAGES), 0.1)
    (span,) = calls(exporter)
    assert attributes(span)[semconv.CANCELLED] is True
    assert span.status.status_code is StatusCode.UNSET


def test_the_connection_of_a_call_is_new_once_and_reused_afterwards(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(completion())]
    chat(client)
    chat(client)
    first, second = (attributes(span) for span in calls(exporter))
    assert (first[semconv.CONNECTION_NEW], second[semconv.CONNECTION_NEW]) == (True, False)
    assert first[semconv.CONNECTION_CONNECT_TIME] > 0
    assert semconv.CONNECTION_CONNECT_TIME not in second


def test_sizes_are_those_of_the_body_that_was_sent(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "Grüße"},
        {"role": "user", "content": "more"},
    ]
    model.replies = [Reply(completion())]
    client.chat.completions.create(model="m", messages=messages)
    found = only(exporter)
    assert found[semconv.REQUEST_MESSAGES] == 3
    assert found[semconv.REQUEST_ROLE_COUNT_PREFIX + "user"] == 2
    assert found[semconv.REQUEST_ROLE_BYTES_PREFIX + "system"] == len('{"role":"system","content":"be kind"}')
    assert found[semconv.REQUEST_BYTES] == int(model.received[0].headers["Content-Length"])


def tool(name: str, description: str) -> Any:
    parameters = {"type": "object", "properties": {"id": {"type": "string", "description": "an id"}}}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def test_tools_are_known_by_size_name_and_two_hashes(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(completion())]
    first, second = tool("lookup", "find"), tool("refund", "pay back")
    chat(client, tools=[first, second])
    chat(client, tools=[second, first])
    one, other = (attributes(span) for span in calls(exporter))
    assert one[semconv.TOOLS_NAMES] == ("lookup", "refund")
    assert one[semconv.TOOLS_COUNT] == 2
    assert sum(one[semconv.TOOLS_SIZES]) == one[semconv.TOOLS_BYTES]
    assert one[semconv.TOOLS_DESCRIPTION_BYTES] == len("find" + "pay back" + "an id" * 2)
    assert one[semconv.TOOLS_NAMES_HASH] == other[semconv.TOOLS_NAMES_HASH]
    assert one[semconv.TOOLS_ORDER_HASH] != other[semconv.TOOLS_ORDER_HASH]


def test_blocks_stand_in_the_order_of_the_prefix_cache_and_only_what_changed_differs(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(completion())]
    for question in ("one", "two"):
        messages: list[ChatCompletionMessageParam] = [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": question},
        ]
        client.chat.completions.create(model="m", messages=messages, tools=[tool("lookup", "find")])
    one, other = (attributes(span)[semconv.PROMPT_BLOCKS] for span in calls(exporter))
    assert [block.split(":")[0] for block in one] == ["tools", "instructions", "user"]
    assert one[:2] == other[:2]
    assert one[2] != other[2]


def test_an_answer_fed_back_as_the_sdk_gave_it_has_the_same_hash(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    choice = completion()["choices"][0] | {"message": tool_call_message(), "finish_reason": "tool_calls"}
    model.replies = [Reply(completion(choices=[choice]))]
    answer = chat(client).choices[0].message
    result: ChatCompletionMessageParam = {"role": "tool", "tool_call_id": "call_1", "content": "{}"}
    client.chat.completions.create(model="m", messages=[*MESSAGES, answer, result])
    first, second = (attributes(span) for span in calls(exporter))
    assert second[semconv.PROMPT_BLOCKS][1].split(":")[:2] == ["assistant", first[semconv.RESPONSE_BLOCK_HASH]]


def test_an_answer_fed_back_by_hand_has_the_same_hash(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    """Agents rebuild the message, and write the arguments anew."""
    choice = completion()["choices"][0] | {"message": tool_call_message(), "finish_reason": "tool_calls"}
    model.replies = [Reply(completion(choices=[choice]))]
    chat(client)
    again: Any = tool_call_message(arguments='{"id":"A-17"}')
    client.chat.completions.create(model="m", messages=[*MESSAGES, again])
    first, second = (attributes(span) for span in calls(exporter))
    assert second[semconv.PROMPT_BLOCKS][1].split(":")[1] == first[semconv.RESPONSE_BLOCK_HASH]


def test_output_items_fed_back_to_the_responses_api_are_one_block_with_the_same_hash(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "lookup", "arguments": '{"id":1}'}
    output = [*response()["output"], call | {"status": "completed"}]
    model.replies = [Reply(response(output=output))]
    answer = client.responses.create(model="m", input="hi")
    done: Any = {"type": "function_call_output", "call_id": "call_1", "output": "{}"}
    given: Any = [{"role": "user", "content": "hi"}, *answer.output, done]
    client.responses.create(model="m", input=given)
    first, second = (attributes(span) for span in calls(exporter))
    blocks = [block.split(":") for block in second[semconv.PROMPT_BLOCKS]]
    assert [kind for kind, _, _ in blocks] == ["user", "assistant", "tool"]
    assert blocks[1][1] == first[semconv.RESPONSE_BLOCK_HASH]
    assert first[semconv.TOOL_CALL_IDS] == ("call_1",)
    assert first[semconv.GEN_AI_RESPONSE_FINISH_REASONS] == ("tool_calls",)


def test_images_and_files_are_counted_and_their_data_is_not_taken_for_text(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(completion())]
    content: Any = [
        {"type": "text", "text": "what is this"},
        {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "high"}},
        {"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}},
    ]
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": content}])
    found = only(exporter)
    assert (found[semconv.IMAGE_COUNT], found[semconv.IMAGE_DETAIL], found[semconv.IMAGE_BYTES]) == (2, "high", 300)
    assert found[semconv.FILE_COUNT] == 1
    assert (found[semconv.FILE_MIME], found[semconv.FILE_BYTES]) == ("application/pdf", 400)
    tokens = int(found[semconv.PROMPT_BLOCKS][0].split(":")[2])
    assert 85 + 765 < tokens < 85 + 765 + 120


def test_images_and_files_of_the_responses_api_are_counted(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(response())]
    content: Any = [
        {"type": "input_image", "image_url": PIXEL, "detail": "auto"},
        {"type": "input_file", "file_data": PDF, "filename": "a.pdf"},
    ]
    client.responses.create(model="m", input=[{"role": "user", "content": content}])
    found = only(exporter)
    assert (found[semconv.IMAGE_COUNT], found[semconv.IMAGE_DETAIL], found[semconv.IMAGE_BYTES]) == (1, "auto", 300)
    assert (found[semconv.FILE_COUNT], found[semconv.FILE_MIME]) == (1, "application/pdf")


def test_a_word_of_the_user_hashes_like_the_argument_it_becomes(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(completion())]
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Where is order A-1042?"}])
    assert hashing.leaves({"order": "A-1042"})[0] == only(exporter)[semconv.REQUEST_LEAVES][0]


def test_the_prefix_hash_changes_with_the_beginning_and_not_with_the_end(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(completion())]
    long = "rule " * 2000
    for system, question in ((long, "one"), (long, "two"), ("now " + long, "one")):
        messages: list[ChatCompletionMessageParam] = [
            {"role": "system", "content": system},
            {"role": "user", "content": question},
        ]
        client.chat.completions.create(model="m", messages=messages)
    hashes = [attributes(span)[semconv.PROMPT_PREFIX_HASH] for span in calls(exporter)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_content_stays_out_unless_it_is_asked_for(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.replies = [Reply(completion("a-very-private-answer"))]
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "a-very-private-question"}])
    assert "private" not in str(last(exporter))
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "span_only")
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "a-very-private-question"}])
    assert "a-very-private-question" in last(exporter)[semconv.GEN_AI_INPUT_MESSAGES]
    assert "a-very-private-answer" in last(exporter)[semconv.GEN_AI_OUTPUT_MESSAGES]


def test_azure_is_named_as_the_provider(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    model.replies = [Reply(completion())]
    with openai.AzureOpenAI(azure_endpoint=model.url, api_key="k", api_version="2026-01-01") as client:
        chat(client)
    found = only(exporter)
    assert found[semconv.GEN_AI_PROVIDER_NAME] == "azure.ai.openai"
    assert "/deployments/m/" in model.received[0].path


def test_the_request_is_sent_unchanged(
    exporter: InMemorySpanExporter, model: ModelServer, client: openai.OpenAI
) -> None:
    model.replies = [Reply(completion())]
    chat(client, temperature=0.5, extra_body={"custom": 1})
    assert model.received[0].body == {"model": "m", "messages": MESSAGES, "temperature": 0.5, "custom": 1}
    assert only(exporter)[semconv.GEN_AI_REQUEST_TEMPERATURE] == 0.5
