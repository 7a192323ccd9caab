"""How marked work ends, and what one object does that is entered while it is open."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import spanwise
from spanwise import semconv

Found = dict[str, Any]


def probe() -> None:
    """A span of the work inside the mark: what it carries tells where it ran."""
    with spanwise.stage("prepare"):
        pass


def attributes(span: ReadableSpan) -> Found:
    return dict(span.attributes or {})


def parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def inside(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name == "agent.stage.prepare"]


def of_mark(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name != "agent.stage.prepare"]


# --- one object, entered while it is open -------------------------------------------------------------------------
def test_an_object_inside_itself_is_two_spans(exporter: InMemorySpanExporter) -> None:
    step = spanwise.step("twice")
    with step as outer:
        with step as inner:
            inner.output(found="inner one")
        outer.output(found="outer")
    first, second = exporter.get_finished_spans()
    assert (first.parent, second.parent) == (second.context, None)
    sizes = [attributes(span)["step.output.found.bytes"] for span in (first, second)]
    assert sizes == [len('"inner one"'), len('"outer"')]


async def test_an_object_in_two_tasks_is_two_spans_each_with_its_own_work(exporter: InMemorySpanExporter) -> None:
    step = spanwise.step("shared")
    first_in, second_in = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        with step as run:
            first_in.set()
            await second_in.wait()
            probe()
            run.output(who="first")

    async def second() -> None:
        await first_in.wait()
        with step as run:
            second_in.set()
            await asyncio.sleep(0)
            probe()
            run.output(who="second")

    await asyncio.gather(first(), second())
    spans = of_mark(exporter)
    assert sorted(attributes(span)["step.output.who.bytes"] for span in spans) == [len('"first"'), len('"second"')]
    assert {parent(work) for work in inside(exporter)} == {span.context.span_id for span in spans}
    assert len(spans) == 2


def test_an_object_in_many_threads_is_a_span_each(exporter: InMemorySpanExporter) -> None:
    step, together = spanwise.step("threads"), threading.Barrier(4)

    def run(_: int) -> None:
        with step:
            together.wait(10)
            probe()
            together.wait(10)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    spans = of_mark(exporter)
    assert len({span.context.span_id for span in spans}) == 4
    assert {parent(work) for work in inside(exporter)} == {span.context.span_id for span in spans}


# --- how work may end ---------------------------------------------------------------------------------------------
@spanwise.step("numbers")
def numbers() -> Iterator[int]:
    try:
        yield 1
        yield 2
    except ValueError:
        yield 3


@spanwise.step("numbers")
async def numbers_later() -> AsyncIterator[int]:
    try:
        yield 1
        yield 2
    except ValueError:
        yield 3


def test_a_generator_takes_what_is_sent_and_thrown_as_it_would_without_us(exporter: InMemorySpanExporter) -> None:
    @spanwise.step("echo")
    def echo() -> Generator[Any, Any, str]:
        got: Any = yield "first"
        yield got
        return "the end"

    def whole() -> Any:
        brought.append((yield from echo()))

    brought: list[Any] = []
    talk: Any = whole()
    assert (next(talk), talk.send("sent"), next(talk, None), brought) == ("first", "sent", None, ["the end"])
    caught: Any = numbers()
    assert (next(caught), caught.throw(ValueError("handled")), list(caught)) == (1, 3, [])
    assert [span.status.status_code for span in exporter.get_finished_spans()] == [StatusCode.UNSET] * 2


async def test_an_asynchronous_generator_takes_what_is_thrown_as_it_would_without_us(
    exporter: InMemorySpanExporter,
) -> None:
    caught: Any = numbers_later()
    assert (await anext(caught), await caught.athrow(ValueError("handled"))) == (1, 3)
    assert [item async for item in caught] == []
    assert [span.status.status_code for span in exporter.get_finished_spans()] == [StatusCode.UNSET]


async def test_closing_a_generator_waits_until_its_function_has_cleaned_up(exporter: InMemorySpanExporter) -> None:
    cleaned: list[bool] = []

    @spanwise.step("tidy")
    async def tidy() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            cleaned.append(trace.get_current_span().is_recording())

    running: Any = tidy()
    await anext(running)
    await running.aclose()
    assert cleaned == [True]


MARKS: dict[str, tuple[Callable[[], Any], str | None]] = {
    "conversation": (lambda: spanwise.conversation("c-form"), None),
    "turn": (lambda: spanwise.turn(3, agent="shop"), "invoke_agent shop"),
    "step": (lambda: spanwise.step("look"), "agent.step.look"),
    "stage": (lambda: spanwise.stage("retrieval"), "agent.stage.retrieval"),
    "tool": (lambda: spanwise.tool("find"), "execute_tool find"),
    "experiment": (lambda: spanwise.experiment("e-1"), None),
}


@pytest.mark.parametrize("mark", MARKS)
async def test_a_generator_closed_by_another_task_leaves_that_task_alone(
    exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture, mark: str
) -> None:
    """Closed on purpose is no failure, and nobody's current span changes."""
    made, name = MARKS[mark]

    async def items() -> AsyncIterator[int]:
        yield 1
        yield 2

    running: Any = made()(items)()
    assert await anext(running) == 1

    async def close() -> bool:
        with spanwise.step("other"):
            before = trace.get_current_span()
            await running.aclose()
            return trace.get_current_span() is before

    assert await asyncio.create_task(close())
    ended = [span for span in of_mark(exporter) if span.name == name]
    assert [(span.status.status_code, span.events) for span in ended] == [(StatusCode.UNSET, ())] * len(ended)
    assert len(ended) == (name is not None)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_block_in_a_generator_that_threads_read_by_turns_is_left_in_silence(
    exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    """As web frameworks read a streamed answer: each step in a context of its own, often in the same thread."""

    def items() -> Iterator[int]:
        with spanwise.step("block"):
            yield 1
            yield 2

    running = items()
    assert [copy_context().run(next, running, None) for _ in range(3)] == [1, 2, None]
    assert len(of_mark(exporter)) == 1
    assert not trace.get_current_span().is_recording()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_generator_that_nobody_reads_to_its_end_ends_its_span_when_it_goes(exporter: InMemorySpanExporter) -> None:
    running: Any = numbers()
    next(running)
    del running
    (span,) = of_mark(exporter)
    assert span.status.status_code is StatusCode.UNSET


def test_a_generator_that_nobody_reads_is_no_work(exporter: InMemorySpanExporter) -> None:
    del (made := [numbers()])[:]
    assert (made, exporter.get_finished_spans()) == ([], ())


def test_a_marked_generator_can_be_a_context_manager(exporter: InMemorySpanExporter) -> None:
    @contextmanager
    @spanwise.step("session")
    def session() -> Iterator[int]:
        yield 1

    with pytest.raises(KeyError, match="lost"), session():
        raise KeyError("lost")
    (span,) = of_mark(exporter)
    assert attributes(span)[semconv.ERROR_TYPE] == "KeyError"


async def test_cancelled_work_has_not_failed(exporter: InMemorySpanExporter) -> None:
    begun = asyncio.Event()

    @spanwise.step("wait")
    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (span,) = of_mark(exporter)
    assert span.status.status_code is StatusCode.UNSET
    assert attributes(span)[semconv.CANCELLED] is True


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_leaving_the_program_is_no_failure_of_its_work(
    exporter: InMemorySpanExporter, kind: type[BaseException]
) -> None:
    @spanwise.step("last")
    def last() -> None:
        raise kind

    with pytest.raises(kind):
        last()
    (span,) = of_mark(exporter)
    assert span.status.status_code is StatusCode.UNSET
