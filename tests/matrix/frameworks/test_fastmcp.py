"""FastMCP's own client and servers: one client span a request, one server span, and everything put back afterwards."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise


def _major() -> int:
    try:
        return int(version("fastmcp").split(".")[0])
    except PackageNotFoundError:
        return 0


pytestmark = pytest.mark.skipif(_major() < 4, reason="fastmcp 4 is not installed")
PLACES = (
    ("fastmcp.client.telemetry", "get_tracer"),
    ("fastmcp.server.telemetry", "get_tracer"),
    ("fastmcp.server.telemetry", "extract_trace_context"),
)


@pytest.fixture(scope="module")
def memory() -> InMemorySpanExporter:
    """FastMCP takes the global provider, which can be set once."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    return kept


@pytest.fixture
def exporter(memory: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    monkeypatch.setenv("SPANWISE_RAISE", "1")
    spanwise.instrument()
    memory.clear()
    yield memory
    spanwise.uninstrument()


def shop() -> Any:
    server = importlib.import_module("fastmcp").FastMCP("shop")
    seen: list[Any] = []

    @server.tool  # type: ignore[untyped-decorator]
    def look(order: str) -> str:
        with spanwise.stage("retrieval"):
            seen.append(order)
        return "shipped"

    @server.tool  # type: ignore[untyped-decorator]
    def fail() -> str:
        raise ValueError("private")

    return server


async def play() -> list[Any]:
    """What a program sees of a working and a failing call."""
    client = importlib.import_module("fastmcp").Client(shop())
    seen: list[Any] = []
    async with client:
        seen.append([tool.name for tool in await client.list_tools()])
        seen.append((await client.call_tool("look", {"order": "A-17"})).data)
        try:
            await client.call_tool("fail")
        except Exception as error:  # noqa: BLE001 - which one it is, is the point
            seen.append((type(error).__name__, str(error)))
        seen.append((await client.call_tool("fail", raise_on_error=False)).is_error)
    return seen


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def kinds(spans: tuple[ReadableSpan, ...], kind: str) -> Counter[str]:
    return Counter(span.name for span in spans if span.kind.name == kind)


async def test_a_request_is_one_client_and_one_server_span(exporter: InMemorySpanExporter) -> None:
    with spanwise.conversation("c-1"), spanwise.turn(agent="agent"):
        await play()
    spans = exporter.get_finished_spans()
    requests = {"tools/list": 1, "tools/call look": 1, "tools/call fail": 2, "server/discover": 1}
    assert kinds(spans, "SERVER") == requests
    clients = kinds(spans, "CLIENT")
    assert {name: clients[name] for name in requests} == requests
    assert {attributes(span).get("gen_ai.conversation.id") for span in spans} == {"c-1"}
    by_id = {span.context.span_id: span for span in spans}
    for span in spans:
        if span.kind.name == "SERVER" and span.parent is not None:
            assert (by_id[span.parent.span_id].name, by_id[span.parent.span_id].kind.name) == (span.name, "CLIENT")


async def test_a_failing_tool_is_an_error_on_both_sides(exporter: InMemorySpanExporter) -> None:
    await play()
    failed = [span for span in exporter.get_finished_spans() if span.name == "tools/call fail"]
    assert [attributes(span)["error.type"] for span in failed] == ["tool_error"] * 4
    served = [attributes(span) for span in failed if span.kind.name == "SERVER"]
    assert all(found["spanwise.tool.is_error"] for found in served)


async def test_a_program_sees_the_same_with_and_without_us(memory: InMemorySpanExporter) -> None:
    without = await play()
    spanwise.instrument()
    try:
        assert await play() == without
    finally:
        spanwise.uninstrument()


async def test_everything_is_put_back(memory: InMemorySpanExporter) -> None:
    await play()
    spanwise.uninstrument()
    middleware = importlib.import_module("fastmcp.server.low_level").FastMCPServerMiddleware
    before = [getattr(importlib.import_module(module), name) for module, name in PLACES]
    call = vars(middleware)["__call__"]
    spanwise.instrument()
    assert vars(middleware)["__call__"] is not call
    spanwise.uninstrument()
    assert [getattr(importlib.import_module(module), name) for module, name in PLACES] == before
    assert vars(middleware)["__call__"] is call
    memory.clear()
    await play()
    ours = [
        span for span in memory.get_finished_spans() if getattr(span.instrumentation_scope, "name", "") == "spanwise"
    ]
    assert {span.name for span in ours} == {"agent.stage.retrieval"}  # the tool's own mark
