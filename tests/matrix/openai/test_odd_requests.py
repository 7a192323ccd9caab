"""Requests and answers that no tutorial shows: the program gets what it would get without us, and one span."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.matrix.openai.answers import pieces, whole
from tests.matrix.openai.playing import attributes, both, calls, only
from tests.matrix.openai.service import Reply, Service

from spanwise import semconv

HALF = "\ud83e"  # of an emoji
USER: Any = {"role": "user", "content": "hi"}


class Silent:
    """Has no text, and says so."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


def circle() -> dict[str, Any]:
    found: dict[str, Any] = {"role": "user", "content": "hi"}
    found["again"] = found
    return found


def deep(levels: int) -> Any:
    found: Any = "bottom"
    for _ in range(levels):
        found = [found]
    return found


def tool_call(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    call = {"id": "call_1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def ask(service: Service, **request: Any) -> Any:
    """One call, and the request as the service got it."""
    service.received.clear()
    with openai.OpenAI(base_url=service.url + "/v1", api_key="k", max_retries=0) as client:
        answer = client.chat.completions.create(**({"model": "m", "messages": [USER]} | request))
        text = list(answer) if request.get("stream") else answer.model_dump(warnings=False)
        return text, [received.body for received in service.received]


REQUESTS: dict[str, Callable[[], dict[str, Any]]] = {
    "half an emoji": lambda: {"messages": [{"role": "user", "content": HALF}]},
    "half an emoji in arguments": lambda: {"messages": [USER, tool_call("f", json.dumps({"x": HALF}))]},
    "half an emoji in a name": lambda: {"messages": [USER, tool_call("f" + HALF, "{}")]},
    "half an emoji in the model's name": lambda: {"model": "m" + HALF},
    "a message inside itself": lambda: {"messages": [circle()]},
    "a body inside itself": lambda: {"extra_body": circle()},
    "a deep body": lambda: {"extra_body": {"deep": deep(200)}},
    "a bottomless body": lambda: {"extra_body": {"deep": deep(100_000)}},
    "a message without text": lambda: {"messages": [{"role": "user", "content": Silent()}]},
    "a body without text": lambda: {"extra_body": {"odd": Silent()}},
    "a model without text": lambda: {"model": Silent()},
    "messages that come one by one": lambda: {"messages": iter([USER, USER])},
    "messages from a generator": lambda: {"messages": (message for message in (USER, USER))},
    "parts that come one by one": lambda: {"messages": [{"role": "user", "content": iter([{"type": "text"}])}]},
    "tools that come one by one": lambda: {"tools": iter([{"type": "function", "function": {"name": "f"}}])},
    "no messages at all": lambda: {"messages": None},
    "numbers for messages": lambda: {"messages": [1, 2.5, None, True]},
    "a body that takes the messages away": lambda: {"extra_body": {"messages": "none", "tools": 3, "model": 7}},
    "bytes": lambda: {"messages": [{"role": "user", "content": b"\xff"}]},
    "not a number": lambda: {"temperature": float("nan")},
    "a number too large for a span": lambda: {"seed": 2**70, "max_tokens": 2**64},
}


@pytest.mark.parametrize("odd", REQUESTS)
@pytest.mark.parametrize("streamed", [False, True])
def test_an_odd_request_is_sent_or_refused_as_it_would_be_without_us(
    odd: str, *, streamed: bool, service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    reply = Reply(events=pieces("chat")) if streamed else Reply(whole("chat"))
    with service.playing([reply]):
        kind, *_ = both(lambda: ask(service, **({"stream": True} if streamed else {}), **REQUESTS[odd]()), provider)
    expected = StatusCode.ERROR if kind == "raised" else StatusCode.UNSET
    # What the SDK refuses before it makes a request of it never was a call.
    assert [expected] * (len(calls(exporter)) or kind == "returned") == [s.status.status_code for s in calls(exporter)]


def test_a_model_of_the_sdk_as_a_message_is_sent_as_the_sdk_would(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    def again() -> Any:
        with openai.OpenAI(base_url=service.url + "/v1", api_key="k") as client:
            first: Any = client.chat.completions.create(model="m", messages=[USER])
            messages = [USER, first.choices[0].message]
            client.chat.completions.create(model="m", messages=messages)
        return [received.body for received in service.received[-2:]]

    with service.playing([Reply(whole("chat"))]):
        both(again, provider)
    first, second = calls(exporter)
    block = attributes(second)[semconv.PROMPT_BLOCKS][1]
    assert ["assistant", attributes(first)[semconv.RESPONSE_BLOCK_HASH]] == block.split(":")[:2]


ANSWERS: dict[str, dict[str, Any]] = {
    "half an emoji": {"id": HALF, "model": HALF, "system_fingerprint": HALF, "service_tier": HALF},
    "tokens that are no numbers": {"usage": {"prompt_tokens": "many", "completion_tokens": None, "total_tokens": {}}},
    "more tokens than a span can hold": {"usage": {"prompt_tokens": 2**70, "completion_tokens": 2**70}},
    "no choices": {"choices": None},
    "choices that are none": {"choices": [None, 3, "x", []]},
    "a choice without a message": {"choices": [{"index": "first", "finish_reason": 7, "message": None}]},
    "tool calls that are none": {"choices": [{"message": {"tool_calls": [None, {}, {"function": None}, 3]}}]},
    "half an emoji in a tool call": {"choices": [{"message": tool_call(HALF, HALF), "finish_reason": HALF}]},
}


@pytest.mark.parametrize("odd", ANSWERS)
def test_an_odd_answer_arrives_as_it_would_without_us(
    odd: str, service: Service, provider: TracerProvider, exporter: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    with service.playing([Reply(whole("chat") | ANSWERS[odd])]):
        kind, *_ = both(lambda: ask(service), provider)
    assert kind == "returned"
    json.dumps(attributes(only(exporter)), ensure_ascii=False).encode()  # no half of a pair is left


@pytest.mark.parametrize("odd", ANSWERS)
def test_an_odd_piece_arrives_as_it_would_without_us(
    odd: str, service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    def as_piece(choice: Any) -> Any:
        return {**choice, "delta": choice.get("message")} if isinstance(choice, dict) else choice

    choices = [as_piece(choice) for choice in ANSWERS[odd].get("choices") or ()]
    first, *others = pieces("chat")
    with service.playing([Reply(events=[first | ANSWERS[odd] | {"choices": choices}, *others])]):
        kind, *_ = both(lambda: str(ask(service, stream=True)), provider)
    assert kind == "returned"
    json.dumps(attributes(only(exporter)), ensure_ascii=False).encode()


def test_a_large_answer_that_the_program_reads_by_itself_is_whole_and_not_kept(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    large = whole("chat") | {"system_fingerprint": "x" * 12_000_000}

    def read() -> int:
        with (
            openai.OpenAI(base_url=service.url + "/v1", api_key="k") as client,
            client.chat.completions.with_streaming_response.create(model="m", messages=[USER]) as answer,
        ):
            return sum(map(len, answer.iter_bytes()))

    with service.playing([Reply(large)]):
        both(read, provider)
    found = attributes(only(exporter))
    assert found[semconv.RESPONSE_BYTES] > 12_000_000
    assert semconv.INCOMPLETE not in found


@pytest.mark.parametrize("amount", [1, 100_000])
def test_an_answer_that_the_program_reads_in_part_is_incomplete(
    amount: int, service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    large = whole("chat") | {"system_fingerprint": "x" * 12_000_000}

    def read() -> int:
        with (
            openai.OpenAI(base_url=service.url + "/v1", api_key="k") as client,
            client.chat.completions.with_streaming_response.create(model="m", messages=[USER]) as answer,
        ):
            return len(next(answer.iter_bytes(amount)))

    with service.playing([Reply(large)]):
        assert both(read, provider) == ("returned", amount)
    assert attributes(only(exporter))[semconv.INCOMPLETE] is True
