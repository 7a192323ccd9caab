"""Every mark in every form: as a block and around every kind of function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial, wraps
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

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


# --- the six marks, and how each is seen on the work inside ------------------------------------------------------
MARKS: dict[str, tuple[Callable[[], Any], str | None, Found]] = {
    "conversation": (lambda: spanwise.conversation("c-form"), None, {semconv.GEN_AI_CONVERSATION_ID: "c-form"}),
    "turn": (lambda: spanwise.turn(3, agent="shop"), "invoke_agent shop", {semconv.TURN: 3}),
    "step": (lambda: spanwise.step("look"), "agent.step.look", {}),
    "stage": (lambda: spanwise.stage("retrieval"), "agent.stage.retrieval", {}),
    "tool": (lambda: spanwise.tool("find"), "execute_tool find", {}),
    "experiment": (
        lambda: spanwise.experiment("e-1", arm="short", fixture="f-2", round=4, position=1, seed=-7),
        None,
        {
            semconv.EXPERIMENT_ID: "e-1",
            semconv.EXPERIMENT_ARM: "short",
            semconv.EXPERIMENT_FIXTURE: "f-2",
            semconv.EXPERIMENT_ROUND: 4,
            semconv.EXPERIMENT_POSITION: 1,
            semconv.EXPERIMENT_SEED: -7,
        },
    ),
}


# --- the six forms; each runs the work twice inside the mark ------------------------------------------------------
def block(mark: Any) -> None:
    with mark:
        probe()
        probe()


def asynchronous_block(mark: Any) -> None:
    async def run() -> None:
        async with mark:
            probe()
            await asyncio.sleep(0)
            probe()

    asyncio.run(run())


def function(mark: Any) -> None:
    def work(number: int) -> int:
        probe()
        probe()
        return number

    assert mark(work)(5) == 5


def coroutine(mark: Any) -> None:
    async def work(number: int) -> int:
        probe()
        await asyncio.sleep(0)
        probe()
        return number

    run = mark(work)
    assert inspect.iscoroutinefunction(run)
    assert asyncio.run(run(5)) == 5


def generator(mark: Any) -> None:
    def work(number: int) -> Iterator[int]:
        probe()
        yield number
        probe()

    run = mark(work)
    assert inspect.isgeneratorfunction(run)
    made = run(5)
    assert inspect.isgenerator(made)
    assert [(item, trace.get_current_span().is_recording()) for item in made] == [(5, False)]


def asynchronous_generator(mark: Any) -> None:
    async def work(number: int) -> AsyncIterator[int]:
        probe()
        yield number
        await asyncio.sleep(0)
        probe()

    run = mark(work)

    async def read() -> list[tuple[int, bool]]:
        return [(item, trace.get_current_span().is_recording()) async for item in run(5)]

    assert inspect.isasyncgenfunction(run)
    assert asyncio.run(read()) == [(5, False)]


FORMS = (block, asynchronous_block, function, coroutine, generator, asynchronous_generator)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("mark", MARKS)
def test_the_work_is_inside_the_mark_and_nothing_else_is(
    exporter: InMemorySpanExporter, mark: str, form: Callable[[Any], None]
) -> None:
    made, name, seen = MARKS[mark]
    form(made())
    probe()
    *within, after = inside(exporter)
    assert len(within) == 2
    assert [{key: attributes(span).get(key) for key in seen} for span in within] == [seen, seen]
    assert {key: attributes(after).get(key) for key in seen} == dict.fromkeys(seen)
    assert [span.name for span in of_mark(exporter)] == ([] if name is None else [name])
    assert {parent(span) for span in within} == {None if name is None else of_mark(exporter)[0].context.span_id}
    assert after.parent is None


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_one_object_serves_one_run_after_the_other(exporter: InMemorySpanExporter, form: Callable[[Any], None]) -> None:
    mark = spanwise.step("again")
    form(mark)
    form(mark)
    assert len(of_mark(exporter)) == 2


# --- kinds of functions -------------------------------------------------------------------------------------------
class _Desk:
    @spanwise.tool
    def method(self, order: str) -> str:
        return order

    @classmethod
    @spanwise.tool
    def below(cls, order: str) -> str:
        return f"{cls.__name__} {order}"

    @spanwise.tool
    @classmethod
    def above(cls, order: str) -> str:
        return f"{cls.__name__} {order}"

    @spanwise.tool
    @staticmethod
    def static(order: str) -> str:
        return order

    def __call__(self, order: str) -> str:
        return order


def two(order: str) -> str:
    return order


class _SubDesk(_Desk): ...


@pytest.mark.parametrize(
    ("call", "name", "expected"),
    [
        (lambda: _Desk().method("A-17"), "method", "A-17"),
        (lambda: _SubDesk.below("A-17"), "below", "_SubDesk A-17"),
        (lambda: _SubDesk().above("A-17"), "above", "_SubDesk A-17"),
        (lambda: _Desk.static("A-17"), "static", "A-17"),
        (lambda: spanwise.tool(_Desk())("A-17"), "_Desk", "A-17"),
        (spanwise.tool(partial(two, "A-17")), "two", "A-17"),
    ],
    ids=["method", "below-classmethod", "above-classmethod", "staticmethod", "object", "partial"],
)
def test_whatever_can_be_called_can_be_a_tool(
    exporter: InMemorySpanExporter, call: Callable[[], str], name: str, expected: str
) -> None:
    assert call() == expected
    (span,) = exporter.get_finished_spans()
    assert (span.name, attributes(span)[semconv.TOOL_ARGS_BYTES]) == (f"execute_tool {name}", len('{"order":"A-17"}'))


def test_recursion_is_a_span_for_each_level(exporter: InMemorySpanExporter) -> None:
    @spanwise.step("down")
    def down(level: int) -> int:
        return level and 1 + down(level - 1)

    assert down(3) == 3
    deepest, *rest = exporter.get_finished_spans()
    assert [span.context for span in rest] == [deepest.parent, *[span.parent for span in rest[:-1]]]


class _Later:
    """Called like a function, awaited like a coroutine."""

    async def __call__(self) -> int:
        probe()
        return 7


def plainly(fn: Callable[..., Any]) -> Callable[..., Any]:
    """As many decorators do: a plain function around a coroutine function."""

    @wraps(fn)
    def run(*args: Any) -> Any:
        return fn(*args)

    return run


@plainly
async def hidden() -> int:
    probe()
    return 7


@pytest.mark.parametrize("fn", [_Later(), hidden, partial(_Later().__call__)], ids=["object", "decorated", "partial"])
def test_work_that_begins_when_it_is_awaited_is_inside(exporter: InMemorySpanExporter, fn: Any) -> None:
    assert asyncio.run(spanwise.step("later")(fn)()) == 7
    (work,) = inside(exporter)
    (step,) = of_mark(exporter)
    assert work.parent == step.context
    assert work.end_time is not None
    assert step.end_time is not None
    assert work.end_time <= step.end_time


def test_what_is_no_function_stays_as_it_is(exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture) -> None:
    mine = property(lambda self: self)
    assert spanwise.step("look")(mine) is mine  # type: ignore[type-var] # which is the mistake
    assert ["property is no function" in record.message for record in caplog.records] == [True]
