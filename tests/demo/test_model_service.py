"""The local model service through the real SDK."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest
from openai import BadRequestError, InternalServerError, NotFoundError, OpenAI, RateLimitError

from spanwise_demo.agent.case import Case
from spanwise_demo.agent.papers import data_url, invoice
from spanwise_demo.model.deployment import Fault, Settings
from spanwise_demo.model.latency import Latency
from spanwise_demo.process import Process

_QUICK = Settings(latency=Latency(scale=0.02))
_ORDER = {"type": "string", "pattern": r"^R-\d{6}$"}
_TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "",
            "parameters": {"type": "object", "properties": {"order": _ORDER}, "required": ["order"]},
        },
    }
    for name in ("get_order", "count_stock")
]
_AT_ONCE = "Use `get_order` and `count_stock` at once. Answer in at most 20 words."


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Process("spanwise_demo.model") as process:
        process.launch()
        yield process.said()["url"]


def _create(url: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(f"{url}/deployments", json.dumps(body).encode())  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310 - loopback
        name: str = json.loads(response.read())["id"]
    return name


def _client(url: str, settings: Settings = _QUICK, *, retries: int = 0) -> OpenAI:
    base_url = f"{url}/{_create(url, asdict(settings))}/v1"
    return OpenAI(base_url=base_url, api_key="local", max_retries=retries)


def _ask(client: OpenAI, instructions: str, **options: Any) -> Any:
    messages: Any = [{"role": "system", "content": instructions}, {"role": "user", "content": "Order R-123456"}]
    return client.chat.completions.create(model="local", messages=messages, **options)


def test_chat_answers_with_the_tool_calls_that_the_instructions_want(url: str) -> None:
    with _client(url) as client:
        choice = _ask(client, _AT_ONCE, tools=_TOOLS).choices[0]
    assert choice.finish_reason == "tool_calls"
    called = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls]
    assert called == [("get_order", {"order": "R-123456"}), ("count_stock", {"order": "R-123456"})]


def test_a_streamed_chat_says_the_same_as_a_whole_one_and_ends_with_its_usage(url: str) -> None:
    with _client(url) as client:
        whole = _ask(client, _AT_ONCE)
        chunks = list(_ask(client, _AT_ONCE, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert [chunk.usage for chunk in chunks[:2]] == [None, None]
    assert whole.usage.completion_tokens == chunks[-1].usage.completion_tokens


def test_streamed_tool_calls_come_in_pieces_that_fit_together(url: str) -> None:
    pieces: dict[int, str] = {}
    with _client(url) as client:
        for chunk in _ask(client, _AT_ONCE, tools=_TOOLS, stream=True):
            for call in chunk.choices[0].delta.tool_calls or ():
                pieces[call.index] = pieces.get(call.index, "") + (call.function.arguments or "")
    assert [json.loads(piece) for piece in pieces.values()] == [{"order": "R-123456"}] * 2


def test_usage_reports_what_an_earlier_request_left_in_the_cache(url: str) -> None:
    long = "Handbook. " * 600
    with _client(url) as client:
        cached = [_ask(client, long).usage.prompt_tokens_details.cached_tokens for _ in range(2)]
    assert cached == [0, 1408]


def test_the_tier_that_served_is_reported_whatever_was_asked_for(url: str) -> None:
    without = replace(_QUICK, tiers=("default",))
    with _client(url) as has, _client(url, without) as lacks:
        served = [_ask(client, "Hello", service_tier="priority").service_tier for client in (has, lacks)]
    assert served == ["priority", "default"]


def test_a_refused_request_succeeds_after_the_pause_that_the_service_asked_for(url: str) -> None:
    settings = replace(_QUICK, faults=(Fault(at=1, times=2, status=429, retry_after_ms=60),))
    began = time.monotonic()
    with _client(url, settings, retries=2) as client:
        answer = _ask(client, "Hello")
    assert answer.choices[0].finish_reason == "stop"
    assert time.monotonic() - began >= 0.12


@pytest.mark.parametrize(("status", "error"), [(429, RateLimitError), (500, InternalServerError)])
def test_refusals_are_the_sdks_own_errors(url: str, status: int, error: type[Exception]) -> None:
    settings = replace(_QUICK, faults=(Fault(at=1, status=status),))
    with _client(url, settings) as client, pytest.raises(error):
        _ask(client, "Hello")


def test_a_malformed_request_and_an_unknown_deployment_are_refused(url: str) -> None:
    with _client(url) as client, pytest.raises(BadRequestError):
        client.post("/chat/completions", body={"model": "local"}, cast_to=object)
    with OpenAI(base_url=f"{url}/nowhere/v1", api_key="local", max_retries=0) as client, pytest.raises(NotFoundError):
        _ask(client, "Hello")


def test_an_unknown_setting_is_refused(url: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400"):
        _create(url, {"latencies": {}})


def test_responses_streams_the_sdks_events_and_the_same_text(url: str) -> None:
    with _client(url) as client:
        events = list(client.responses.create(model="local", instructions=_AT_ONCE, input="Hello", stream=True))
    kinds = [event.type for event in events]
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    done = next(event.response for event in events if event.type == "response.completed")
    assert text == done.output_text
    assert done.usage is not None
    assert done.usage.input_tokens_details.cached_tokens == 0


def test_responses_calls_tools_and_takes_their_results(url: str) -> None:
    tools: Any = [{"type": "function", "strict": False, **tool["function"]} for tool in _TOOLS]
    said: list[Any] = [{"role": "user", "content": "Order R-123456"}]
    with _client(url) as client:
        first = client.responses.create(model="local", instructions=_AT_ONCE, input=said, tools=tools)
        calls = [item for item in first.output if item.type == "function_call"]
        said += [item.model_dump(exclude_none=True) for item in calls]
        said += [{"type": "function_call_output", "call_id": call.call_id, "output": "ok"} for call in calls]
        second = client.responses.create(model="local", instructions=_AT_ONCE, input=said, tools=tools)
    assert [call.name for call in calls] == ["get_order", "count_stock"]
    assert len(second.output_text.split()) == 18


def test_a_pdf_is_read_and_costs_more_than_its_text(url: str) -> None:
    pdf = invoice(Case("c-1", "R-123456", "C-12345", "TRK12345678", turns=(), pages=2))
    file = {"type": "input_file", "filename": "invoice.pdf", "file_data": data_url("application/pdf", pdf)}
    said: Any = [{"role": "user", "content": [file]}]
    schema: Any = {"format": {"type": "json_schema", "name": "x", "schema": {"properties": {"order": _ORDER}}}}
    with _client(url) as client:
        answer = client.responses.create(model="local", input=said, text=schema)
    assert json.loads(answer.output_text) == {"order": "R-123456"}
    assert answer.usage is not None
    assert answer.usage.input_tokens > 2 * 255


def test_an_answer_that_ran_into_its_limit_says_so(url: str) -> None:
    with _client(url) as client:
        chat = _ask(client, "about 100 words", max_tokens=8)
        whole = client.responses.create(model="local", instructions="about 100 words", input="Hi", max_output_tokens=8)
    assert chat.choices[0].finish_reason == "length"
    assert (whole.status, whole.incomplete_details and whole.incomplete_details.reason) == (
        "incomplete",
        "max_output_tokens",
    )


def test_waits_are_real_and_as_declared(url: str) -> None:
    """First content after the declared wait, the last after the declared time per token."""
    latency = Latency(queue_ms=200, uncached_token_ms=0, output_token_ms=10, jitter=0, scale=1)
    with _client(url, Settings(latency=latency)) as client:
        began = time.monotonic()
        moments = [
            (time.monotonic() - began, chunk)
            for chunk in _ask(client, "about 20 words", stream=True, stream_options={"include_usage": True})
        ]
    contents = [moment for moment, chunk in moments if chunk.choices and chunk.choices[0].delta.content]
    tokens = moments[-1][1].usage.completion_tokens
    assert contents[0] >= 0.2
    assert moments[-1][0] >= 0.2 + 0.01 * (tokens - 1)
    assert moments[0][0] < contents[0]
