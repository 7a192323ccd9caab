"""Streams that are dropped, handed on, or left open: by threads, loops, forks and handlers."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.matrix.openai.answers import TEXT, pieces, whole
from tests.matrix.openai.playing import attributes, both, calls, instrumented, only
from tests.matrix.openai.service import Reply, Service

import spanwise
from spanwise import semconv

library: Any = importlib.import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
MESSAGES: Any = [{"role": "user", "content": "hi"}]
HELD = [Reply(events=pieces("chat"), stop_after=2)]
WHOLE = [Reply(events=pieces("chat"))]


def opened(client: openai.OpenAI) -> Any:
    return client.chat.completions.create(model="m", messages=MESSAGES, stream=True)


async def opened_later(client: openai.AsyncOpenAI) -> Any:
    return await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)


@pytest.fixture
def client(service: Service) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=service.url + "/v1", api_key="k", max_retries=0) as made:
        yield made


@pytest.fixture
def silence(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nobody complains while the test runs: neither we nor the context of OpenTelemetry."""
    with caplog.at_level(logging.WARNING):
        yield
    named = [
        record.getMessage() for record in caplog.records if record.name.split(".")[0] in ("spanwise", "opentelemetry")
    ]
    assert [] == [message for message in named if "already shutdown" not in message]


@pytest.fixture
def content(monkeypatch: pytest.MonkeyPatch) -> None:
    """Content is wanted."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")


def incomplete(exporter: InMemorySpanExporter) -> None:
    span = only(exporter)
    assert (True, StatusCode.UNSET) == (attributes(span)[semconv.INCOMPLETE], span.status.status_code)


# --- dropped ------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("silence")
def test_a_stream_that_another_thread_drops_ends_when_it_was_last_touched(
    service: Service, client: openai.OpenAI, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    with service.playing(HELD), instrumented(provider):
        held = [opened(client)]
        next(held[0])
        touched = time.time_ns()

        def drop() -> None:
            held.clear()
            gc.collect()

        thread = threading.Thread(target=drop)
        thread.start()
        thread.join()
        incomplete(exporter)
    assert (only(exporter).end_time or 0) <= touched


@pytest.mark.usefixtures("content")
@pytest.mark.parametrize("last", [2, 3])
def test_a_raw_answer_that_the_sdk_parses_after_all_is_taken_once(
    last: int, service: Service, client: openai.OpenAI, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    with (
        service.playing([Reply(events=pieces("chat"), stop_after=last)]),
        instrumented(provider),
        client.chat.completions.with_streaming_response.create(model="m", messages=MESSAGES, stream=True) as answer,
    ):
        stream: Any = answer.parse()
        for _ in range(last):
            next(stream)
    text = json.loads(attributes(only(exporter))[semconv.GEN_AI_OUTPUT_MESSAGES])[0]["content"]
    assert TEXT[: 5 if last == 2 else None] == text


@pytest.mark.usefixtures("silence")
def test_an_asynchronous_stream_dropped_after_its_loop_has_ended_is_one_span(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda odd: complaints.append(str(odd.exc_value)))

    def program() -> list[str]:
        complaints.clear()
        loop = asyncio.new_event_loop()
        made = openai.AsyncOpenAI(base_url=service.url + "/v1", api_key="k", max_retries=0)
        stream = loop.run_until_complete(opened_later(made))
        loop.run_until_complete(anext(stream))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(made.close())
        loop.close()
        del stream, made
        gc.collect()
        return sorted(set(complaints))

    with service.playing(HELD):
        both(program, provider)
    incomplete(exporter)


class Waiting(library.AsyncBaseTransport):  # type: ignore[misc] # the library is known at run time only
    """Never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def handle_async_request(self, _request: Any) -> Any:
        """Take the request, and no more."""
        self.asked.set()
        await asyncio.get_running_loop().create_future()


@pytest.mark.usefixtures("silence")
def test_a_request_that_goes_with_its_loop_is_cancelled_and_restores_no_foreign_context(
    provider: TracerProvider, exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda odd: complaints.append(repr(odd.exc_value)))

    async def forget() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # "Task was destroyed but it is pending!"
        transport = Waiting()
        http_client = library.AsyncClient(transport=transport)
        made = openai.AsyncOpenAI(base_url="http://model/v1", api_key="k", http_client=http_client)
        asyncio.ensure_future(opened_later(made))  # noqa: RUF006 - nobody holds it, which is the point
        await transport.asked.wait()

    def program() -> list[str]:
        complaints.clear()
        loop = asyncio.new_event_loop()
        loop.run_until_complete(forget())
        loop.close()
        del loop
        gc.collect()
        return list(complaints)

    assert both(program, provider)[0] == "returned"
    assert attributes(only(exporter))[semconv.CANCELLED] is True


# --- shared and handed on -----------------------------------------------------------------------------------------
@pytest.mark.usefixtures("silence")
def test_two_loops_with_a_client_each_keep_their_calls_apart(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    async def converse(name: str) -> None:
        async with openai.AsyncOpenAI(base_url=service.url + "/v1", api_key="k") as made:
            with spanwise.conversation(name):
                for _ in range(3):
                    await asyncio.gather(*(_read(opened_later(made)) for _ in range(3)))

    with service.playing(WHOLE), instrumented(provider):
        threads = [threading.Thread(target=asyncio.run, args=(converse(name),)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    names = [attributes(span)[semconv.GEN_AI_CONVERSATION_ID] for span in calls(exporter)]
    assert ["one"] * 9 + ["two"] * 9 == sorted(names)
    assert all(attributes(span)[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 10 for span in calls(exporter))


async def _read(stream: Awaitable[Any]) -> int:
    return len([piece async for piece in await stream])


def test_many_threads_share_a_client(
    service: Service, client: openai.OpenAI, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    counts: list[int] = []
    with service.playing(WHOLE), instrumented(provider):
        threads = [threading.Thread(target=lambda: counts.append(len(list(opened(client))))) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [5] * 12 == counts
    assert {(10, 1)} == {
        (attributes(span)[semconv.GEN_AI_USAGE_INPUT_TOKENS], attributes(span)[semconv.RETRY_ATTEMPTS])
        for span in calls(exporter)
    }
    assert len(calls(exporter)) == 12


def current() -> Any:
    return trace.get_current_span().get_span_context()


def test_a_stream_that_outlives_its_handler_ends_with_its_last_piece_and_touches_no_consumer(
    service: Service, client: openai.OpenAI, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    tracer = provider.get_tracer("web")

    def handler() -> Iterator[str]:
        with tracer.start_as_current_span("handler"):
            return (str(piece) for piece in opened(client))

    with service.playing(WHOLE), instrumented(provider):
        body = handler()
        assert calls(exporter) == []
        with tracer.start_as_current_span("consumer"):
            inside = current()
            assert [inside] * 5 == [current() for _ in body]
            assert current() == inside
        assert not current().is_valid
    ended = {span.name: span for span in exporter.get_finished_spans()}
    assert ended["chat m"].parent == ended["handler"].context
    assert (ended["chat m"].end_time or 0) > (ended["handler"].end_time or 0)
    assert attributes(ended["chat m"])[semconv.GEN_AI_USAGE_INPUT_TOKENS] == 10


@pytest.mark.usefixtures("silence")
async def test_an_asynchronous_stream_may_be_opened_read_and_closed_by_different_tasks(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    tracer = provider.get_tracer("web")

    async def step(work: Callable[[], Any]) -> tuple[bool, Any]:
        """What a task does, and whether its current span is what it was."""
        with tracer.start_as_current_span("task"):
            before = current()
            found = await work()
            return before == current(), found

    with service.playing(HELD), instrumented(provider):
        async with openai.AsyncOpenAI(base_url=service.url + "/v1", api_key="k") as made:
            same, stream = await asyncio.create_task(step(lambda: opened_later(made)))
            steps: list[Callable[[], Any]] = [stream.__anext__, stream.__anext__, stream.close, stream.close]
            results = [await asyncio.create_task(step(work)) for work in steps]
    assert [True] * 5 == [same, *(unchanged for unchanged, _ in results)]
    incomplete(exporter)


@pytest.mark.usefixtures("silence")
async def test_a_generator_over_a_stream_that_another_task_closes_is_one_incomplete_span(
    service: Service, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    async def texts(made: openai.AsyncOpenAI) -> AsyncIterator[str]:
        async with await opened_later(made) as stream:
            async for piece in stream:
                yield str(piece)

    with service.playing(HELD), instrumented(provider):
        async with openai.AsyncOpenAI(base_url=service.url + "/v1", api_key="k") as made:
            found: Any = texts(made)
            await asyncio.create_task(found.__anext__())
            await asyncio.create_task(found.aclose())
            assert not current().is_valid
    incomplete(exporter)


@pytest.mark.parametrize("streamed", [True, False])
def test_the_http_request_belongs_to_the_call_and_the_call_to_the_agent(
    *, streamed: bool, service: Service, client: openai.OpenAI, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    agent = provider.get_tracer("agent").start_as_current_span("agent")
    with service.playing(WHOLE if streamed else [Reply(whole("chat"))]), instrumented(provider), agent:
        _ = list(client.chat.completions.create(model="m", messages=MESSAGES, stream=streamed))
    ended = {span.name: span for span in exporter.get_finished_spans()}
    assert (ended["POST"].parent, ended["chat m"].parent) == (ended["chat m"].context, ended["agent"].context)
    assert len(ended) == 3


# --- forked -------------------------------------------------------------------------------------------------------
FORKING = """
import gc, os, sys
import openai, spanwise
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
spanwise.instrument(tracer_provider=provider, mcp=False, httpx=False)
client = openai.OpenAI(base_url=sys.argv[1], api_key="k")
stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], stream=True)
next(stream)
child = os.fork()
if child:
    os.waitpid(child, 0)
    print("parent", len(list(stream)), flush=True)
else:
    del stream
    gc.collect()
    print("child", 0, flush=True)
provider.shutdown()
print([span.name for span in exporter.get_finished_spans()], flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_stream_that_is_open_at_a_fork_ends_once_in_the_parent(service: Service, tmp_path: Path) -> None:
    program = tmp_path / "forking.py"
    program.write_text(FORKING)
    with service.playing(WHOLE):
        done = subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", program, service.url + "/v1"],
            capture_output=True, text=True, timeout=60, check=False, env=os.environ | {"SPANWISE_RAISE": "1"},
        )  # fmt: skip
    assert "" == done.stderr
    assert ["child 0", "[]", "parent 4", "['chat m']"] == done.stdout.splitlines()
