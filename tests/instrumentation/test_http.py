"""HTTP requests: below the call that made them, with their connection, and without secrets for strangers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import openai
import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.instrumentation.model import ModelServer, Reply, completion, normal_chunks

import spanwise
from spanwise import semconv
from spanwise.connection import EXTENSION, Connection, listen
from spanwise.context import allow_host, conversation_id, propagates_to

MESSAGES: Any = [{"role": "user", "content": "hi"}]


@pytest.fixture
def stranger() -> Iterator[ModelServer]:
    """A server that the test reaches by a name which is not loopback to us."""
    with ModelServer().running() as server:
        server.replies = [Reply(completion())]
        yield server


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def ask(client: openai.OpenAI) -> None:
    client.chat.completions.create(model="m", messages=MESSAGES)


def ask_streamed(client: openai.OpenAI) -> None:
    list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))


@pytest.mark.parametrize("asking", [ask, ask_streamed])
def test_the_http_request_is_below_the_model_call_and_carries_the_trace(
    asking: Callable[[openai.OpenAI], None], exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    """D-10 and D-11, synchronous."""
    model.replies = [Reply(completion()) if asking is ask else Reply(events=normal_chunks())]
    with openai.OpenAI(base_url=model.url, api_key="k") as client, spanwise.turn(agent="shop"):
        asking(client)
    check_tree(exporter, model)


async def test_the_http_request_is_below_the_asynchronous_model_call(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    """D-11, asynchronous."""
    model.replies = [Reply(completion())]
    async with openai.AsyncOpenAI(base_url=model.url, api_key="k") as client:
        with spanwise.turn(agent="shop"):
            await client.chat.completions.create(model="m", messages=MESSAGES)
    check_tree(exporter, model)


def test_a_legacy_httpx_client_gives_the_same_tree(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    """D-10."""
    httpx = pytest.importorskip("httpx")
    model.replies = [Reply(completion())]
    with httpx.Client() as http, spanwise.turn(agent="shop"):
        ask(openai.OpenAI(base_url=model.url, api_key="k", http_client=http))
    check_tree(exporter, model)


def check_tree(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    request, call, turn = sorted(exporter.get_finished_spans(), key=lambda span: span.end_time or 0)
    assert (request.name, call.name, turn.name) == ("POST", "chat m", "invoke_agent shop")
    assert (request.parent, call.parent) == (call.context, turn.context)
    assert format(request.context.span_id, "016x") in model.received[0].headers["traceparent"]


def test_the_new_http_names_are_written(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    model.replies = [Reply(completion())]
    with httpx2.Client() as client:
        client.post(f"{model.url}/x", json={})
    (span,) = exporter.get_finished_spans()
    assert attributes(span)[semconv.HTTP_REQUEST_METHOD] == "POST"
    assert attributes(span)[semconv.HTTP_RESPONSE_STATUS_CODE] == 200
    assert "http.method" not in attributes(span)


def test_a_connection_is_new_once(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    model.replies = [Reply(completion())]
    with httpx2.Client() as client:
        for _ in range(2):
            client.post(f"{model.url}/x", json={})
    found = [attributes(span) for span in exporter.get_finished_spans()]
    assert [each[semconv.CONNECTION_NEW] for each in found] == [True, False]
    assert found[0][semconv.CONNECTION_CONNECT_TIME] > 0


async def test_an_asynchronous_connection_is_new_once(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    model.replies = [Reply(completion())]
    async with httpx2.AsyncClient() as client:
        for _ in range(2):
            await client.post(f"{model.url}/x", json={})
    found = [attributes(span)[semconv.CONNECTION_NEW] for span in exporter.get_finished_spans()]
    assert found == [True, False]


def test_a_listener_of_the_program_goes_on_hearing(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    heard: list[str] = []
    model.replies = [Reply(completion())]
    with httpx2.Client() as client:
        extensions = {EXTENSION: lambda name, _info: heard.append(name)}
        client.post(f"{model.url}/x", json={}, extensions=extensions)
    assert "connection.connect_tcp.started" in heard
    (span,) = exporter.get_finished_spans()
    assert attributes(span)[semconv.CONNECTION_NEW] is True


def test_tls_is_timed_apart() -> None:
    seen = Connection()
    for place in ("connection.connect_tcp", "connection.start_tls"):
        assert not seen.event(f"{place}.started")
        assert not seen.event(f"{place}.complete")
    assert seen.attributes() != {}
    assert seen.event("http2.send_request_headers.started")
    assert set(seen.attributes()) == {
        semconv.CONNECTION_NEW,
        semconv.CONNECTION_CONNECT_TIME,
        semconv.CONNECTION_TLS_TIME,
    }


def test_nothing_is_said_of_a_connection_that_was_never_asked_for() -> None:
    seen = Connection()
    listen(None, lambda name, _: seen.event(name), part="test", asynchronous=False)
    assert seen.attributes() == {}


def test_a_request_that_is_sent_again_and_again_is_as_quick_as_the_first(
    exporter: InMemorySpanExporter, model: ModelServer
) -> None:
    heard: list[str] = []
    model.replies = [Reply(completion())]
    own = {EXTENSION: lambda name, _: heard.append(name)}
    with httpx2.Client() as client:
        request = client.build_request("GET", f"{model.url}/x", extensions=own)
        for _ in range(1100):  # deeper than Python's stack
            client.send(request)
    assert 1100 == heard.count("http11.send_request_headers.started")
    assert [False] * 1099 == [
        (span.attributes or {})[semconv.CONNECTION_NEW] for span in exporter.get_finished_spans()
    ][1:]


def test_loopback_learns_the_conversation(exporter: InMemorySpanExporter, model: ModelServer) -> None:
    model.replies = [Reply(completion())]
    with spanwise.conversation("c-1"), httpx2.Client() as client:
        client.post(f"{model.url}/x", json={})
    assert model.received[0].headers["baggage"] == "gen_ai.conversation.id=c-1"


def via_proxy(server: ModelServer) -> httpx2.Client:
    """A client whose requests to any host arrive at ``server``, unencrypted."""
    return httpx2.Client(transport=httpx2.HTTPTransport(proxy=server.url.removesuffix("/v1")))


def test_a_stranger_learns_nothing_of_the_conversation_but_keeps_trace_and_foreign_baggage(
    exporter: InMemorySpanExporter, stranger: ModelServer
) -> None:
    token = context.attach(baggage.set_baggage("theirs", "1"))
    try:
        with spanwise.conversation("c-1"), spanwise.turn(agent="shop"), via_proxy(stranger) as client:
            client.post("http://api.example.org/v1/x", json={})
            assert conversation_id() == "c-1"
            assert trace.get_current_span().is_recording()
    finally:
        context.detach(token)
    assert stranger.received[0].headers["baggage"] == "theirs=1"
    assert "traceparent" in stranger.received[0].headers
    (request,) = [span for span in exporter.get_finished_spans() if span.name == "POST"]
    assert attributes(request)[semconv.GEN_AI_CONVERSATION_ID] == "c-1"


def test_an_allowed_host_learns_the_conversation(exporter: InMemorySpanExporter, stranger: ModelServer) -> None:
    allow_host("API.example.org")
    with spanwise.conversation("c-1"), via_proxy(stranger) as client:
        client.post("http://api.example.org/v1/x", json={})
    assert stranger.received[0].headers["baggage"] == "gen_ai.conversation.id=c-1"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("[::1]", True),
        ("agent.localhost", True),
        ("localhost.example.org", False),
        ("10.0.0.1", False),
        ("", False),
    ],
)
def test_only_loopback_is_trusted_by_itself(exporter: InMemorySpanExporter, host: str, expected: bool) -> None:  # noqa: FBT001 - a case of the test
    assert propagates_to(host) is expected


def test_concurrent_requests_keep_their_own_baggage(exporter: InMemorySpanExporter, stranger: ModelServer) -> None:
    """Taking it from one request must not take it from its neighbours."""

    def ask_both(name: str) -> None:
        with spanwise.conversation(name), via_proxy(stranger) as client:
            client.post("http://api.example.org/v1/x", json={})
            client.post("http://localhost/v1/x", json={})

    threads = [threading.Thread(target=ask_both, args=(f"c-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = sorted(request.headers.get("baggage", "") for request in stranger.received)
    assert said == [""] * 4 + [f"gen_ai.conversation.id=c-{number}" for number in range(4)]


async def test_concurrent_tasks_keep_their_own_baggage(exporter: InMemorySpanExporter, stranger: ModelServer) -> None:
    async def ask_both(name: str) -> None:
        proxy = stranger.url.removesuffix("/v1")
        with spanwise.conversation(name):
            async with httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(proxy=proxy)) as client:
                await client.post("http://api.example.org/v1/x", json={})
                await client.post("http://localhost/v1/x", json={})

    await asyncio.gather(*(ask_both(f"c-{number}") for number in range(4)))
    said = sorted(request.headers.get("baggage", "") for request in stranger.received)
    assert said == [""] * 4 + [f"gen_ai.conversation.id=c-{number}" for number in range(4)]
