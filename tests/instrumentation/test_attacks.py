"""What nobody should do, and somebody will: the program goes on as it would without us, and no lock is left held."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise
from spanwise import semconv
from spanwise.context import conversation_id


def test_a_thread_that_cannot_be_started_is_as_it_was_and_can_be_started_later(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    seen: list[str | None] = []
    thread = threading.Thread(target=lambda: seen.append(conversation_id()))
    with spanwise.conversation("c-1"):
        for name in ("_start_new_thread", "_start_joinable_thread"):  # whichever this Python has
            if hasattr(threading, name):
                monkeypatch.setattr(threading, name, full)
        with pytest.raises(RuntimeError, match="can't start"):
            thread.start()
        assert "run" not in vars(thread)
        monkeypatch.undo()
    with spanwise.conversation("c-2"):
        thread.start()
    thread.join()
    assert seen == ["c-2"]


def test_a_thread_that_is_started_twice_is_told_so_and_runs_once(exporter: InMemorySpanExporter) -> None:
    runs: list[int] = []
    with spanwise.conversation("c-1"):
        thread = threading.Thread(target=runs.append, args=(1,))
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError, match="only be started once"):
            thread.start()
    assert (runs, "run" in vars(thread)) == ([1], False)


def test_a_thread_with_a_run_of_its_own_keeps_it(exporter: InMemorySpanExporter) -> None:
    seen: list[object] = []
    thread = threading.Thread()

    def run() -> None:
        seen.extend((conversation_id(), vars(thread)["run"] is run))

    thread.run = run  # type: ignore[method-assign] # as some programs do
    with spanwise.conversation("c-1"):
        thread.start()
    thread.join()
    assert seen == ["c-1", True]


def test_switching_off_and_on_under_load_breaks_no_work(provider: TracerProvider) -> None:
    memory = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    over = threading.Event()

    def work() -> int:
        done = 0
        while not over.is_set():
            with spanwise.conversation("c-1"), spanwise.turn(agent="a"), spanwise.step("s"):
                results: list[int] = []
                thread = threading.Thread(target=results.append, args=(1,))
                thread.start()
                thread.join()
                done += sum(results) + inner.submit(int, "1").result() - 1
        return done

    with ThreadPoolExecutor(2) as inner, ThreadPoolExecutor(3) as outer:
        futures = [outer.submit(work) for _ in range(3)]
        for _ in range(30):
            spanwise.instrument(tracer_provider=provider)
            time.sleep(0.002)
            spanwise.uninstrument()
        over.set()
        assert all(future.result() > 0 for future in futures)
    assert all(span.end_time for span in memory.get_finished_spans())
    assert not trace.get_current_span().is_recording()


def test_two_event_loops_at_once_keep_their_conversations(exporter: InMemorySpanExporter) -> None:
    both = threading.Barrier(2)

    async def converse(name: str) -> None:
        with spanwise.conversation(name), spanwise.turn(agent=name):
            for _ in range(20):
                await asyncio.gather(look(name), asyncio.to_thread(both.wait, 5))

    async def look(name: str) -> None:
        with spanwise.step("look"):
            await asyncio.sleep(0)
            assert conversation_id() == name

    threads = [threading.Thread(target=asyncio.run, args=(converse(name),)) for name in ("c-1", "c-2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spans = exporter.get_finished_spans()
    turns = {span.context.span_id: span.name for span in spans if span.parent is None}
    found = [((span.attributes or {})[semconv.GEN_AI_CONVERSATION_ID], turns[span.parent.span_id])
             for span in spans if span.parent is not None]  # fmt: skip
    assert sorted(found) == [(name, f"invoke_agent {name}") for name in ("c-1", "c-2") for _ in range(20)]


def test_a_block_in_a_generator_that_outlives_the_block_around_it_brings_nothing_back(
    exporter: InMemorySpanExporter,
) -> None:
    """It must not make current what was current when it began and has ended since."""

    def items() -> Iterator[int]:
        with spanwise.step("inner"):
            yield 1
            yield 2

    running = items()
    with spanwise.conversation("c-1"), spanwise.turn(agent="outer"):
        next(running)
    list(running)
    assert (conversation_id(), trace.get_current_span().is_recording()) == (None, False)
    assert len(exporter.get_finished_spans()) == 2


async def test_a_block_in_an_asynchronous_generator_that_another_task_closes_ends_once_and_in_silence(
    exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    async def items() -> AsyncIterator[int]:
        with spanwise.step("inner"):
            yield 1
            yield 2

    running = items()
    await anext(running)
    await asyncio.create_task(running.aclose())  # type: ignore[attr-defined] # a generator behind the iterator's type
    (span,) = exporter.get_finished_spans()
    assert span.name == "agent.step.inner"
    assert [record.getMessage() for record in caplog.records] == []
