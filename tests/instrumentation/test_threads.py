"""Conversation, turn and span reach work that is done elsewhere in the process, and nothing stays behind there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor

import anyio
import anyio.to_thread
import pytest
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise
from spanwise import semconv

Work = Callable[[], object]


def in_thread(work: Work) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


class Derived(threading.Thread):
    """One that has its work in ``run``."""

    def __init__(self, work: Work) -> None:
        super().__init__(daemon=True)
        self._work = work

    def run(self) -> None:
        """Work."""
        self._work()


def in_derived(work: Work) -> None:
    thread = Derived(work)
    thread.start()
    thread.join()


def in_timer(work: Work) -> None:
    timer = threading.Timer(0.001, work)
    timer.start()
    timer.join()


def in_pool(work: Work) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def in_map(work: Work) -> None:
    with ThreadPoolExecutor(1) as pool:
        list(pool.map(lambda _: work(), [0]))


async def by_loop(work: Work) -> None:
    await asyncio.get_running_loop().run_in_executor(None, work)


async def by_gather(work: Work) -> None:
    async def go() -> None:
        work()

    await asyncio.gather(go())


async def by_to_thread(work: Work) -> None:
    await asyncio.to_thread(work)


async def by_anyio(work: Work) -> None:
    async def go() -> None:
        work()

    async with anyio.create_task_group() as group:
        group.start_soon(go)


async def by_anyio_thread(work: Work) -> None:
    await anyio.to_thread.run_sync(work)


SYNC = [in_thread, in_derived, in_timer, in_pool, in_map]
ASYNC = [by_loop, by_gather, by_to_thread, by_anyio, by_anyio_thread]


def tool() -> None:
    with spanwise.step("work"):
        pass


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def check_inside(exporter: InMemorySpanExporter) -> None:
    work, turn = exporter.get_finished_spans()
    assert ("agent.step.work", "invoke_agent shop") == (work.name, turn.name)
    assert turn.context == work.parent
    found = attributes(work)
    assert ("c-1", 3) == (found[semconv.GEN_AI_CONVERSATION_ID], found[semconv.TURN])


@pytest.mark.parametrize("through", SYNC)
def test_work_of_another_thread_is_part_of_the_turn(
    exporter: InMemorySpanExporter, through: Callable[[Work], None]
) -> None:
    with spanwise.conversation("c-1"), spanwise.turn(3, agent="shop"):
        through(tool)
    check_inside(exporter)


@pytest.mark.parametrize("through", ASYNC)
async def test_work_of_another_task_is_part_of_the_turn(
    exporter: InMemorySpanExporter, through: Callable[[Work], Awaitable[None]]
) -> None:
    with spanwise.conversation("c-1"), spanwise.turn(3, agent="shop"):
        await through(tool)
    check_inside(exporter)


def test_a_pool_takes_nothing_over_into_work_that_belongs_to_nobody(exporter: InMemorySpanExporter) -> None:
    """Also where its threads were started from inside of the conversation."""
    with ThreadPoolExecutor(2) as pool:
        with spanwise.conversation("c-1"), spanwise.turn(agent="shop"):
            list(pool.map(lambda _: tool(), range(8)))
        list(pool.map(lambda _: tool(), range(8)))
        assert {} == pool.submit(lambda: dict(get_current())).result()
    inside, outside = exporter.get_finished_spans()[:8], exporter.get_finished_spans()[9:]
    assert [True] * 8 == [semconv.GEN_AI_CONVERSATION_ID in attributes(span) for span in inside]
    assert 1 == len({span.context.trace_id for span in inside})
    assert [(None, False)] * 8 == [
        (span.parent, semconv.GEN_AI_CONVERSATION_ID in attributes(span)) for span in outside
    ]


def test_two_conversations_that_share_a_pool_never_mix(exporter: InMemorySpanExporter) -> None:
    both = threading.Barrier(2)

    def converse(name: str, pool: ThreadPoolExecutor) -> None:
        with spanwise.conversation(name), spanwise.turn(agent=name):
            for _ in range(10):
                both.wait(5)
                list(pool.map(lambda _: tool(), range(2)))

    with ThreadPoolExecutor(2) as pool:
        threads = [threading.Thread(target=converse, args=(name, pool)) for name in ("c-1", "c-2")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    spans = exporter.get_finished_spans()
    turns = {span.name: span.context.span_id for span in spans if span.parent is None}
    steps = [span for span in spans if span.parent is not None]
    pairs = [(attributes(span)[semconv.GEN_AI_CONVERSATION_ID], span.parent and span.parent.span_id) for span in steps]
    expected = [(name, turns[f"invoke_agent {name}"]) for name in ("c-1", "c-2") for _ in range(20)]
    assert expected == sorted(pairs, key=str)


async def test_two_conversations_of_one_loop_never_mix(exporter: InMemorySpanExporter) -> None:
    async def converse(name: str) -> None:
        with spanwise.conversation(name), spanwise.turn(agent=name):
            for through in ASYNC * 3:
                await through(tool)
                await asyncio.sleep(0)

    await asyncio.gather(converse("c-1"), converse("c-2"))
    spans = exporter.get_finished_spans()
    turns = {span.context.span_id: span.name for span in spans if span.parent is None}
    pairs = {
        (attributes(span)[semconv.GEN_AI_CONVERSATION_ID], turns[span.parent.span_id]) for span in spans if span.parent
    }
    assert {("c-1", "invoke_agent c-1"), ("c-2", "invoke_agent c-2")} == pairs
    assert 32 == len(spans)


def test_what_a_thread_runs_is_its_own_again_and_its_error_too(exporter: InMemorySpanExporter) -> None:
    seen: list[object] = []
    caught: list[object] = []
    earlier, threading.excepthook = threading.excepthook, lambda args: caught.append(args.exc_value)
    error = ValueError("theirs")

    def work() -> None:
        seen.append(vars(threading.current_thread()).get("run"))
        raise error

    try:
        with spanwise.conversation("c-1"):
            in_thread(work)
    finally:
        threading.excepthook = earlier
    assert [None] == seen
    assert [error] == caught


def test_a_future_carries_the_error_of_its_work(exporter: InMemorySpanExporter) -> None:
    error = ValueError("theirs")

    def work() -> None:
        raise error

    with ThreadPoolExecutor(1) as pool, spanwise.conversation("c-1"):
        future: Future[None] = pool.submit(work)
        assert error is future.exception()


def test_the_original_functions_come_back(exporter: InMemorySpanExporter) -> None:
    spanwise.uninstrument()
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit
    spanwise.instrument(endpoint=None)
    assert start is not threading.Thread.start
    assert submit is not ThreadPoolExecutor.submit
    spanwise.uninstrument()
    assert (True, True) == (start is threading.Thread.start, submit is ThreadPoolExecutor.submit)
