"""Servers and clients that end in the middle, and sessions that are left elsewhere than they were entered."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tests.matrix.mcp import tree
from tests.matrix.mcp.caller import opened, transport
from tests.matrix.mcp.place import served
from tests.matrix.mcp.shop.sdk import nothing_heard
from tests.matrix.mcp.sink import Sink

import spanwise
from spanwise import semconv

STAY = 1.5  # s that the agent waits for its answer
AGENT = Path(__file__).parent / "shop" / "agent.py"


def named(traced: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in traced.get_finished_spans() if span.name == name and span.kind is SpanKind.CLIENT]


def test_call_of_an_agent_that_is_stopped_is_sent(sink: Sink) -> None:
    with served("http", "low", None) as url:
        started = time.monotonic()
        command = [sys.executable, str(AGENT), url, str(STAY)]
        subprocess.run(command, env=sink.environment, check=True, timeout=20)
        took = time.monotonic() - started
    (call,) = (node for node in tree.remote(sink.spans) if node.name == "tools/call die")
    (raw,) = (span for span in sink.spans if span.name == "tools/call die")
    seconds = (raw.end_time_unix_nano - raw.start_time_unix_nano) / 1e9
    # Some versions wait for ever, others see that the stream broke off.
    assert call.attributes.get(semconv.INCOMPLETE) or call.attributes[semconv.ERROR_TYPE]
    assert 0 < seconds < STAY + 1
    if call.attributes.get(semconv.INCOMPLETE):
        assert seconds > STAY / 10
    assert took < STAY + 10


async def test_start_of_a_process_is_apart_from_the_protocol(traced: InMemorySpanExporter) -> None:
    with served("stdio", "low", None) as place:
        async with opened(place, "legacy", nothing_heard) as caller:
            await caller.call("ok")
    (connect,), (greeting,) = named(traced, "mcp.connect shop"), named(traced, "initialize")
    (close,) = named(traced, "mcp.close shop")
    found = connect.attributes or {}
    assert ("stdio", True, False) == tuple(
        found[name] for name in (semconv.MCP_TRANSPORT, semconv.MCP_COLD, semconv.MCP_REUSED)
    )
    assert 0 < found[semconv.MCP_SPAWN_TIME] <= found[semconv.MCP_CONNECT_TIME]  # type: ignore[operator]
    assert isinstance(found[semconv.MCP_PID], int)
    assert (connect.end_time or 0) <= (greeting.start_time or 0) < (close.start_time or 0)
    assert (greeting.attributes or {})[semconv.MCP_COLD] is True


async def test_server_that_dies_in_a_call(traced: InMemorySpanExporter, provider: TracerProvider) -> None:
    async def outcome() -> list[str]:
        found = []
        with served("stdio", "low", None) as place:
            try:
                async with opened(place, "legacy", nothing_heard) as caller:
                    for name in ("die", "ok"):
                        try:
                            async with asyncio.timeout(5):
                                await caller.call(name)
                        except Exception as error:  # noqa: BLE001 - it must be the same with us
                            found.append(f"{type(error).__name__}: {error}")
            except* Exception as group:  # noqa: BLE001 - as above
                found.append(type(group.exceptions[0]).__name__)
        return found

    threads = set(threading.enumerate())
    spanwise.uninstrument()
    without = await outcome()
    traced.clear()
    spanwise.instrument(tracer_provider=provider)
    assert without == await outcome()
    (died,), (after,) = named(traced, "tools/call die"), named(traced, "tools/call ok")
    for span in (died, after):
        assert (span.attributes or {})[semconv.ERROR_TYPE]
        assert span.status.status_code is StatusCode.ERROR
    assert threads == set(threading.enumerate())
    assert len(asyncio.all_tasks()) == 1


async def test_session_left_in_another_task(traced: InMemorySpanExporter, caplog: pytest.LogCaptureFixture) -> None:
    async def outcome() -> str:
        stack = AsyncExitStack()

        async def enter(place: Any) -> None:
            read, write, *_ = await stack.enter_async_context(transport(place))
            session: Any = await stack.enter_async_context(ClientSession(read, write))
            await session.initialize()

        with served("stdio", "low", None) as place:
            await asyncio.create_task(enter(place))
            try:
                await asyncio.create_task(stack.aclose())
            except BaseException as error:  # noqa: BLE001 - as above
                return f"{type(error).__name__}: {error}"
        return ""

    with_us = await outcome()
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]
    assert named(traced, "mcp.close shop")
    spanwise.uninstrument()
    assert with_us == await outcome()
    assert "different task" in with_us
