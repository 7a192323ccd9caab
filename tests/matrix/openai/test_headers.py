"""Whatever HTTP library the SDK uses, the service learns which model call of which conversation it works for."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.matrix.openai.clients import AIOHTTP, backends, make
from tests.matrix.openai.outcomes import OUTCOMES

import spanwise
from spanwise import semconv

CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}
ANSWER = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]}
MESSAGES = [{"role": "user", "content": "hi"}]
COMPLETED = next(outcome for outcome in OUTCOMES.values() if outcome.attempts == 1 and outcome.timeout is None)


class Listening:
    """A service that keeps the headers of what it is asked."""

    def __init__(self) -> None:
        self.heard: list[dict[str, str]] = []
        heard = self.heard

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                heard.append({name.lower(): value for name, value in self.headers.items()})
                body = json.dumps(ANSWER).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Keep the test's output clean."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def listening() -> Iterator[Listening]:
    made = Listening()
    thread = threading.Thread(target=made.http.serve_forever, args=(0.02,))
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join()


def ask(backend: str, url: str, *, asynchronous: bool) -> None:
    client = make("openai", backend, COMPLETED, url, asynchronous=asynchronous)

    async def later() -> Any:
        async with client:
            return await client.chat.completions.create(model="m", messages=MESSAGES)

    if asynchronous:
        asyncio.run(later())
        return
    with client:
        client.chat.completions.create(model="m", messages=MESSAGES)


WAYS = [(backend, way) for way in (False, True) for backend in backends(asynchronous=way)]


@pytest.mark.parametrize(("backend", "asynchronous"), WAYS)
def test_a_request_names_its_trace_its_span_and_its_conversation(
    listening: Listening, provider: TracerProvider, exporter: InMemorySpanExporter, backend: str, *, asynchronous: bool
) -> None:
    spanwise.instrument(tracer_provider=provider, mcp=False)
    try:
        with spanwise.conversation("c-1"):
            ask(backend, listening.url, asynchronous=asynchronous)
    finally:
        spanwise.uninstrument()
    (headers,) = listening.heard
    first, *rest = exporter.get_finished_spans()
    # The innermost one there is: of the HTTP request, or of the model call where nobody traces the library.
    assert (backend == AIOHTTP) == (rest == [])
    assert headers["traceparent"].split("-")[1:3] == [
        format(first.context.trace_id, "032x"),
        format(first.context.span_id, "016x"),
    ]
    assert headers["baggage"] == f"{semconv.GEN_AI_CONVERSATION_ID}=c-1"


@pytest.mark.parametrize(("backend", "asynchronous"), WAYS)
def test_a_request_says_nothing_of_it_any_more_when_we_are_gone(
    listening: Listening, provider: TracerProvider, backend: str, *, asynchronous: bool
) -> None:
    spanwise.instrument(tracer_provider=provider, mcp=False)
    spanwise.uninstrument()
    ask(backend, listening.url, asynchronous=asynchronous)
    assert {"traceparent", "baggage"} & set(listening.heard[0]) == set()
