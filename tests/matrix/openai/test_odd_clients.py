"""Clients that a program made its own, and switching us on and off while they are at work."""

from __future__ import annotations

import importlib
import json
from typing import Any

import openai
import pytest
from openai._base_client import AsyncAPIClient, SyncAPIClient
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.matrix.openai.answers import pieces, whole
from tests.matrix.openai.playing import attributes, both, calls, instrumented, only
from tests.matrix.openai.service import Reply, Service

import spanwise
from spanwise import semconv

MESSAGES: Any = [{"role": "user", "content": "hi"}]
library: Any = importlib.import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])


def chat(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(model="m", messages=MESSAGES, **more)


class Persistent(openai.OpenAI):
    """A program's own client, which tries once more by itself and is equal to others with its key."""

    def request(self, *args: Any, **kwargs: Any) -> Any:
        """Ask, and ask again."""
        try:
            return super().request(*args, **kwargs)
        except openai.BadRequestError:
            return super().request(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Persistent) and other.api_key == self.api_key

    __hash__ = None  # type: ignore[assignment] # such objects cannot be keys


def test_a_client_that_tries_by_itself_has_a_span_for_each_time_it_asks_the_sdk(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    def call() -> Any:
        with (
            service.playing([Reply({}, status=400), Reply(whole("chat"))]),
            Persistent(base_url=service.url + "/v1", api_key="k", max_retries=0) as client,
        ):
            return chat(client).model_dump()

    assert both(call, provider)[0] == "returned"
    assert [attributes(span)[semconv.HTTP_RESPONSE_STATUS_CODE] for span in calls(exporter)] == [400, 200]


def test_a_copy_of_a_client_is_a_client(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    def call() -> Any:
        with (
            service.playing([Reply({}, status=500, headers={"retry-after-ms": "1"}), Reply(whole("chat"))]),
            openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="k", max_retries=0) as client,
        ):
            copy = client.with_options(base_url=service.url + "/proxy/v1", max_retries=1, timeout=10)
            return chat(copy).model_dump(), [received.path for received in service.received]

    assert both(call, provider)[1][1] == ["/proxy/v1/chat/completions"] * 2
    found = attributes(only(exporter))
    assert (found[semconv.RETRY_ATTEMPTS], found[semconv.SERVER_ADDRESS]) == (2, "127.0.0.1")


@pytest.mark.parametrize("closing", [False, True])
def test_a_transport_of_the_programs_own_is_asked_once(
    *, closing: bool, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    asked: list[str] = []

    def answer(request: Any) -> Any:
        asked.append(request.url.path)
        headers = {"content-type": "text/event-stream"}
        data = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces("chat"))
        return library.Response(200, headers=headers, content=data.encode())

    def call() -> Any:
        http_client = library.Client(transport=library.MockTransport(answer))
        client = openai.OpenAI(base_url="http://model/v1", api_key="k", http_client=http_client)
        stream = chat(client, stream=True)
        first = next(stream).model_dump()
        if closing:
            stream.close()
        return first, [piece.model_dump() for piece in stream], asked.pop()

    assert both(call, provider)[0] == "returned"
    assert (asked, len(calls(exporter))) == ([], 1)


def test_a_http_client_that_asks_elsewhere_meanwhile_adds_no_attempt(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    """Such as one that fetches a token."""

    class Fetching(library.Auth):  # type: ignore[misc] # the library is known at run time only
        def auth_flow(self, request: Any) -> Any:
            with library.Client() as other:
                token = other.post(service.url + "/token", json={}).status_code
            request.headers["x-token"] = str(token)
            yield request

    def call() -> Any:
        with (
            service.playing([Reply({}), Reply(whole("chat"))]),
            openai.OpenAI(
                base_url=service.url + "/v1", api_key="k", http_client=library.Client(auth=Fetching())
            ) as client,
        ):
            return chat(client).model_dump(), [received.path for received in service.received]

    assert both(call, provider)[1][1] == ["/token", "/v1/chat/completions"]
    assert attributes(only(exporter))[semconv.RETRY_ATTEMPTS] == 1


def test_switching_us_on_twice_is_once_and_off_is_off(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    owners = (SyncAPIClient, AsyncAPIClient, openai.Stream, openai.AsyncStream)
    before = [dict(vars(owner)) for owner in owners]
    with (
        service.playing([Reply(whole("chat"))]),
        openai.OpenAI(base_url=service.url + "/v1", api_key="k") as client,
    ):
        with instrumented(provider):
            spanwise.instrument(tracer_provider=provider, mcp=False)
            chat(client)
        assert len(calls(exporter)) == 1
        assert before == [dict(vars(owner)) for owner in owners]
        chat(client)
    assert len(calls(exporter)) == 1


def test_a_call_made_before_us_is_read_to_its_end_without_us(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    with (
        service.playing([Reply(events=pieces("chat"))]),
        openai.OpenAI(base_url=service.url + "/v1", api_key="k") as client,
    ):
        stream = chat(client, stream=True)
        with instrumented(provider):
            assert len(list(stream)) == 5
    assert calls(exporter) == []


def test_a_stream_that_outlives_us_still_ends_its_span(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    failed = Reply({}, status=500, headers={"retry-after-ms": "1"})
    with (
        service.playing([failed, Reply(events=pieces("chat"))]),
        openai.OpenAI(base_url=service.url + "/v1", api_key="k") as client,
    ):
        with instrumented(provider):
            stream = chat(client, stream=True)
            next(stream)
        assert calls(exporter) == []
        assert len(list(stream)) == 4
    found = attributes(only(exporter))
    assert found[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 10
    assert [span.name for span in exporter.get_finished_spans() if span.name.startswith("chat.attempt")] == [
        "chat.attempt 1",
        "chat.attempt 2",
    ]
