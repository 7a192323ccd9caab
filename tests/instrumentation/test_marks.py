"""Conversations, turns, steps, stages and tools: where they reach, and how they end."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import spanwise
from spanwise import hashing, marks, semconv


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name == name]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def conversations(exporter: InMemorySpanExporter) -> list[Any]:
    return [attributes(span).get(semconv.GEN_AI_CONVERSATION_ID) for span in exporter.get_finished_spans()]


@spanwise.tool
def lookup(order: str) -> dict[str, str]:
    return {"order": order, "state": "shipped"}


@spanwise.tool
async def find(order: str) -> str:
    return order


def test_turns_are_counted_for_each_conversation(exporter: InMemorySpanExporter) -> None:
    for conversation in ("count-a", "count-b", "count-a"):
        with spanwise.conversation(conversation), spanwise.turn(agent="shop"):
            pass
    found = [(attributes(span)[semconv.GEN_AI_CONVERSATION_ID], attributes(span)[semconv.TURN])
             for span in named(exporter, "invoke_agent shop")]  # fmt: skip
    assert found == [("count-a", 1), ("count-b", 1), ("count-a", 2)]


def test_a_given_turn_number_wins(exporter: InMemorySpanExporter) -> None:
    with spanwise.conversation("given"), spanwise.turn(7, agent="shop"), spanwise.step("look"):
        pass
    assert [attributes(span)[semconv.TURN] for span in exporter.get_finished_spans()] == [7, 7]


def test_no_conversation_is_ever_invented(exporter: InMemorySpanExporter) -> None:
    with spanwise.turn(agent="shop"):
        lookup("A-1")
    assert conversations(exporter) == [None, None]


@pytest.mark.parametrize("name", [None, "", "  "])
def test_a_conversation_without_an_id_is_none(exporter: InMemorySpanExporter, name: str | None) -> None:
    with spanwise.conversation("outer"), spanwise.conversation(name), spanwise.turn(agent="shop"):
        pass
    (span,) = exporter.get_finished_spans()
    assert semconv.GEN_AI_CONVERSATION_ID not in attributes(span)
    assert semconv.TURN not in attributes(span)


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_of_fork_counts_turns_though_another_thread_was_counting(exporter: InMemorySpanExporter) -> None:
    with marks._lock:
        child = os.fork()
        if not child:
            with spanwise.conversation("c-fork"), spanwise.turn():
                pass
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_user_is_only_a_keyed_hash(exporter: InMemorySpanExporter) -> None:
    with spanwise.conversation("c-user", user="ada@example.org"), spanwise.turn(agent="shop"):
        pass
    (span,) = exporter.get_finished_spans()
    assert attributes(span)[semconv.USER_HASH] == hashing.hashed("ada@example.org")
    assert "ada" not in str(attributes(span))


def test_marks_are_decorators_too_each_run_a_span_of_its_own(exporter: InMemorySpanExporter) -> None:
    @spanwise.conversation("c-deco")
    @spanwise.turn(agent="shop")
    def answer() -> int:
        return 42

    @spanwise.step("think")
    async def think() -> int:
        return 43

    assert (answer(), answer(), asyncio.run(think())) == (42, 42, 43)
    numbers = [attributes(span)[semconv.TURN] for span in named(exporter, "invoke_agent shop")]
    assert numbers == [1, 2]
    assert len(named(exporter, "agent.step.think")) == 1


async def test_marks_are_asynchronous_context_managers_too(exporter: InMemorySpanExporter) -> None:
    async with spanwise.conversation("c-async"), spanwise.turn(agent="shop"), spanwise.stage("prepare"):
        await find("A-1")
    assert conversations(exporter) == ["c-async"] * 3


def test_a_step_records_sizes_and_hashes_and_no_values(exporter: InMemorySpanExporter) -> None:
    with spanwise.step("order_lookup", text_only=True, order="secret-17") as step:
        step.output(found=["secret-18"])
    (span,) = named(exporter, "agent.step.order_lookup")
    found = attributes(span)
    assert found["step.input.order.bytes"] == len('"secret-17"')
    assert found["step.output.found.type"] == "list"
    assert found[semconv.STEP_TEXT_ONLY] is True
    assert found[semconv.STEP_OUTPUT_STATUS] == "ok"
    assert "secret" not in str(found)


def test_a_failed_step_is_an_error_and_the_error_goes_on(exporter: InMemorySpanExporter) -> None:
    with pytest.raises(KeyError, match="private"), spanwise.step("look"):
        raise KeyError("private")
    (span,) = named(exporter, "agent.step.look")
    assert span.status.status_code is StatusCode.ERROR
    assert attributes(span)[semconv.ERROR_TYPE] == "KeyError"
    assert attributes(span)[semconv.STEP_OUTPUT_STATUS] == "error"
    assert "private" not in str(span.status.description) + str(span.events) + str(attributes(span))


def test_waiting_for_a_person_is_marked_as_such(exporter: InMemorySpanExporter) -> None:
    with spanwise.stage("user.wait"):
        pass
    (span,) = exporter.get_finished_spans()
    assert (attributes(span)[semconv.STAGE], attributes(span)[semconv.HUMAN]) == ("user.wait", True)


def test_the_outcome_stands_on_the_turn_also_from_deep_below(exporter: InMemorySpanExporter) -> None:
    with spanwise.turn(agent="shop"), spanwise.step("answer"), spanwise.stage("check"):
        spanwise.outcome(passed=False, consumed_tokens=12)
    (span,) = named(exporter, "invoke_agent shop")
    assert attributes(span)[semconv.QUALITY_PASSED] is False
    assert attributes(span)[semconv.OUTPUT_CONSUMED_TOKENS] == 12


def test_a_tool_is_known_by_sizes_and_leaves(exporter: InMemorySpanExporter) -> None:
    lookup("A-1042")
    (span,) = named(exporter, "execute_tool lookup")
    found = attributes(span)
    assert found[semconv.TOOL_ARGS_BYTES] == len('{"order":"A-1042"}')
    assert found[semconv.TOOL_RESULT_BYTES] == len('{"order":"A-1042","state":"shipped"}')
    assert found[semconv.TOOL_ARGS_LEAVES][0] == found[semconv.TOOL_RESULT_LEAVES][0] == hashing.hashed("A-1042")
    assert "A-1042" not in str(found)


def test_a_tool_can_be_a_block_with_the_id_of_its_call(exporter: InMemorySpanExporter) -> None:
    with spanwise.tool("refund", call_id="call_1", destructive=True, order="A-1") as run:
        run.output("done")
    (span,) = named(exporter, "execute_tool refund")
    found = attributes(span)
    assert (found[semconv.GEN_AI_TOOL_CALL_ID], found[semconv.TOOL_DESTRUCTIVE]) == ("call_1", True)
    assert found[semconv.TOOL_RESULT_BYTES] == 4


def test_values_are_recorded_where_content_is_captured(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    lookup("x" * 20_000)
    (span,) = exporter.get_finished_spans()
    found = attributes(span)
    assert found[semconv.GEN_AI_TOOL_CALL_ARGUMENTS].startswith('{"order":"xxx')
    assert len(found[semconv.GEN_AI_TOOL_CALL_ARGUMENTS]) == 16_384
    assert found[semconv.TRUNCATED] > 20_000


@spanwise.tool
def count(to: int) -> Iterator[int]:
    yield from range(to)


@spanwise.tool
async def count_async(to: int) -> AsyncIterator[int]:
    for number in range(to):
        yield number


def test_a_generator_closed_on_purpose_is_no_failure(exporter: InMemorySpanExporter) -> None:
    """Nor is the span current between two items."""
    numbers = count(3)
    assert next(numbers) == 0
    assert not trace.get_current_span().is_recording()
    numbers.close()  # type: ignore[attr-defined] # a generator behind the iterator's type
    (span,) = named(exporter, "execute_tool count")
    assert (span.status.status_code, span.events) == (StatusCode.UNSET, ())


async def test_an_asynchronous_generator_closed_on_purpose_is_no_failure(exporter: InMemorySpanExporter) -> None:
    numbers: Any = count_async(3)
    assert await anext(numbers) == 0
    await numbers.aclose()
    (span,) = named(exporter, "execute_tool count_async")
    assert (span.status.status_code, span.events) == (StatusCode.UNSET, ())


def test_an_error_thrown_into_a_generator_is_a_failure(exporter: InMemorySpanExporter) -> None:
    numbers: Any = count(3)
    next(numbers)
    with pytest.raises(ValueError, match="no"):
        numbers.throw(ValueError("no"))
    (span,) = named(exporter, "execute_tool count")
    assert span.status.status_code is StatusCode.ERROR


def test_a_generator_read_to_its_end_is_one_span(exporter: InMemorySpanExporter) -> None:
    assert list(count(3)) == [0, 1, 2]
    assert len(named(exporter, "execute_tool count")) == 1


async def test_a_generator_may_be_closed_by_another_task(
    exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is logged, and the first task's current span is what it was."""
    numbers: Any = count_async(3)
    with spanwise.step("outer"):
        before = trace.get_current_span()
        await anext(numbers)
        await asyncio.create_task(numbers.aclose())
        assert trace.get_current_span() is before
    assert len(named(exporter, "execute_tool count_async")) == 1
    assert [record for record in caplog.records if record.name == "opentelemetry.context"] == []


async def test_a_block_left_in_another_task_leaves_that_task_alone(
    exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    step = spanwise.step("moved")
    await step.__aenter__()

    async def leave() -> trace.Span:
        with spanwise.step("other"):
            await step.__aexit__(None, None, None)
            return trace.get_current_span()

    assert (await asyncio.create_task(leave())).get_span_context().span_id != 0
    assert len(named(exporter, "agent.step.moved")) == 1
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def use_every_kind_of_task() -> None:
    await asyncio.gather(find("A-1"), asyncio.to_thread(lookup, "A-2"))
    async with anyio.create_task_group() as group:
        group.start_soon(find, "A-3")


async def test_every_span_of_a_conversation_carries_its_id_and_no_other(exporter: InMemorySpanExporter) -> None:
    async def run(conversation: str) -> None:
        with spanwise.conversation(conversation), spanwise.turn(agent=conversation):
            await use_every_kind_of_task()

    await asyncio.gather(run("c-1"), run("c-2"))
    assert sorted(conversations(exporter)) == ["c-1"] * 4 + ["c-2"] * 4
    for name in ("c-1", "c-2"):
        (root,) = named(exporter, f"invoke_agent {name}")
        inside = [span for span in exporter.get_finished_spans() if span.context.trace_id == root.context.trace_id]
        assert {attributes(span)[semconv.GEN_AI_CONVERSATION_ID] for span in inside} == {name}


def test_tools_in_a_thread_pool_stay_below_their_agent_and_leave_nothing_in_its_threads(
    exporter: InMemorySpanExporter,
) -> None:
    with ThreadPoolExecutor(2) as pool:
        with spanwise.conversation("c-pool"), spanwise.turn(agent="shop"):
            list(pool.map(lookup, ["A-1", "A-2", "A-3", "A-4"]))
        list(pool.map(lookup, ["B-1"]))
    (root,) = named(exporter, "invoke_agent shop")
    *inside, outside = named(exporter, "execute_tool lookup")
    assert [span.parent for span in inside] == [root.context] * 4
    assert outside.parent is None
    assert semconv.GEN_AI_CONVERSATION_ID not in attributes(outside)


def test_the_future_of_a_pool_is_the_functions_own(exporter: InMemorySpanExporter) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threading.get_ident).result() != threading.get_ident()
        assert isinstance(pool.submit(int, "x").exception(), ValueError)
