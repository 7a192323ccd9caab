"""What no sane program does: the outcome is the same with us, and where there can be a span there is one."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, get_current_span
from tests.matrix.mcp.caller import Caller, opened
from tests.matrix.mcp.scenario import noted
from tests.matrix.mcp.shop.sdk import MODERN, MODES, custom, nothing_heard, text

import spanwise

# 1.x leaves streams open where a request cannot be written.
pytestmark = [] if MODERN else [pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

SURROGATE = "half a \ud83e"


class Sour:
    """Has no text, and no wish to be dumped."""

    def __str__(self) -> str:
        """Fails."""
        raise RuntimeError("no text")

    __repr__ = __str__


class SourError(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        """Fails."""
        raise RuntimeError("no text")


def cyclic() -> dict[str, Any]:
    """Holds itself."""
    made: dict[str, Any] = {"a": 1}
    made["self"] = made
    return made


def deep(levels: int = 5000) -> list[Any]:
    """Nested too deep for anybody."""
    made: list[Any] = []
    for _ in range(levels):
        made = [made]
    return made


async def echo(name: str, arguments: dict[str, Any], _session: Any) -> dict[str, Any]:
    """Answers with what it was given, in its own way."""
    if name == "sour":
        raise SourError
    if name == "surrogate":
        return text(SURROGATE)
    return text(f"{name} {sorted(arguments)}")


ODD: dict[str, Callable[[Caller], Awaitable[Any]]] = {
    "surrogate in a name": lambda caller: caller.call(SURROGATE),
    "surrogate in arguments": lambda caller: caller.call("ok", {SURROGATE: SURROGATE}),
    "surrogate in a result": lambda caller: caller.call("surrogate"),
    "cyclic arguments": lambda caller: caller.call("ok", cyclic()),
    "deep arguments": lambda caller: caller.call("ok", {"deep": deep()}),
    "huge arguments": lambda caller: caller.call("ok", {"text": "x" * 5_000_000}),
    "arguments without a text": lambda caller: caller.call("ok", {"sour": Sour()}),
    "keys that are no text": lambda caller: caller.call("ok", {1: 2}),  # type: ignore[dict-item]
    "arguments that are no mapping": lambda caller: caller.call("ok", ["list"]),  # type: ignore[arg-type]
    "no name": lambda caller: caller.call(None),  # type: ignore[arg-type]
    "an error without a text": lambda caller: caller.call("sour"),
}


async def outcome(attack: Callable[[Caller], Awaitable[Any]], mode: str) -> list[Any]:
    record: list[Any] = []
    try:
        async with opened(custom(echo), mode, nothing_heard) as caller:
            await _tried(record, "attack", attack(caller))
            await _tried(record, "after", caller.call("ok", {"n": 1}))
    except* Exception as group:  # noqa: BLE001 - as in a cell
        record.append([type(error).__name__ for error in group.exceptions])
    return record


async def _tried(record: list[Any], what: str, work: Awaitable[Any]) -> None:
    try:
        await noted(record, what, asyncio.wait_for(work, 5))
    except Exception as error:  # noqa: BLE001 - an error whose text fails, too
        record.append((what, type(error).__name__))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("attack", ODD)
async def test_odd_values(provider: TracerProvider, kept: InMemorySpanExporter, mode: str, attack: str) -> None:
    logging.disable()
    spanwise.uninstrument()
    without = await outcome(ODD[attack], mode)
    spanwise.instrument(tracer_provider=provider)
    with_us = await outcome(ODD[attack], mode)
    spanwise.uninstrument()
    logging.disable(logging.NOTSET)
    assert without == with_us
    names = [span.name for span in kept.get_finished_spans() if span.kind is SpanKind.CLIENT]
    assert len(names) >= 4
    for name in names:
        name.encode()


def test_two_loops_at_the_same_time(traced: InMemorySpanExporter) -> None:
    meeting = threading.Barrier(2, timeout=10)

    async def agent(name: str) -> None:
        with spanwise.conversation(name):
            async with opened(custom(echo), "legacy", nothing_heard) as caller:
                for number in range(20):
                    if number == 1:
                        await asyncio.to_thread(meeting.wait)
                    await caller.call(name)

    threads = [threading.Thread(target=asyncio.run, args=(agent(name),)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in ("one", "two"):
        spans = [span for span in traced.get_finished_spans() if span.name == f"tools/call {name}"]
        assert 40 == len(spans)
        assert {name} == {(span.attributes or {})["gen_ai.conversation.id"] for span in spans}


async def test_switching_off_and_on_in_the_middle(provider: TracerProvider, kept: InMemorySpanExporter) -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def call(name: str, _arguments: dict[str, Any], _session: Any) -> dict[str, Any]:
        if name == "wait":
            inside.set()
            await go_on.wait()
        return text(name)

    spanwise.uninstrument()
    async with opened(custom(call), "legacy", nothing_heard) as caller:
        spanwise.instrument(tracer_provider=provider)
        await caller.call("before")
        waiting = asyncio.create_task(caller.call("wait"))
        await inside.wait()
        spanwise.uninstrument()
        go_on.set()
        assert "wait" in str(await waiting)
        await caller.call("unseen")
        spanwise.instrument(tracer_provider=provider)
        await caller.call("after")
        assert not get_current_span().get_span_context().is_valid
    spanwise.uninstrument()
    calls = [span.name for span in kept.get_finished_spans() if span.name.startswith("tools/call")]
    for name in ("before", "wait", "after"):
        assert 2 == calls.count(f"tools/call {name}")
    assert "tools/call unseen" not in calls


async def test_session_that_nobody_closes_costs_nothing(
    traced: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    async def forget() -> None:
        async with asyncio.timeout(5):
            async with opened(custom(echo), "legacy", nothing_heard) as caller:
                await caller.call("ok")
                raise KeyError("left")

    with pytest.raises((KeyError, BaseExceptionGroup)):
        await forget()
    assert not get_current_span().get_span_context().is_valid
    assert "mcp.close custom" in [span.name for span in traced.get_finished_spans()]
    assert not [record for record in caplog.records if record.name.startswith(("opentelemetry", "spanwise"))]
