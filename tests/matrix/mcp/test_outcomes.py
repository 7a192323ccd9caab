"""How requests end, and what came with them: the same on every line of the SDK."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tests.matrix.mcp.caller import opened
from tests.matrix.mcp.shop.sdk import MODERN, MODES, VERSION, build, custom, nothing_heard, text

import spanwise
from spanwise import semconv
from spanwise.mcp import handled

BRIEF = 0.2
TOOL = {"name": "ok", "inputSchema": {"type": "object"}}
IMAGE = {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}], "isError": True}

modes = pytest.mark.parametrize("mode", MODES)


def spans(traced: InMemorySpanExporter, name: str, kind: SpanKind = SpanKind.CLIENT) -> list[ReadableSpan]:
    return [span for span in traced.get_finished_spans() if span.name == name and span.kind is kind]


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


def seconds(span: ReadableSpan) -> float:
    return ((span.end_time or 0) - (span.start_time or 0)) / 1e9


@modes
@pytest.mark.parametrize(
    ("answer", "types"),
    [(IMAGE, ("image",)), ({"content": [], "isError": True}, ()), (text("no such order", failed=True), ("text",))],
)
async def test_tool_that_says_it_failed_has_failed(
    traced: InMemorySpanExporter, mode: str, answer: dict[str, Any], types: tuple[str, ...]
) -> None:
    async def call(_name: str, _arguments: Any, _session: Any) -> dict[str, Any]:
        return answer

    with spanwise.turn(agent="caller"):
        async with opened(custom(call), mode, nothing_heard) as caller:
            await caller.call("odd")
    for kind in (SpanKind.CLIENT, SpanKind.SERVER):
        (span,) = spans(traced, "tools/call odd", kind)
        assert (StatusCode.ERROR, "tool_error") == (span.status.status_code, attributes(span)[semconv.ERROR_TYPE])
    (sent,) = spans(traced, "tools/call odd")
    assert (True, types) == (attributes(sent)[semconv.TOOL_IS_ERROR], attributes(sent)[semconv.TOOL_RESULT_TYPES])
    (turn,) = spans(traced, "invoke_agent caller", SpanKind.INTERNAL)
    assert turn.status.status_code is StatusCode.UNSET


async def test_both_sides_know_the_same_result(traced: InMemorySpanExporter) -> None:
    async def call(_name: str, _arguments: Any, _session: Any) -> dict[str, Any]:
        return text('{"order": "A-4711", "status": "shipped"}')

    async with opened(custom(call), "legacy", nothing_heard) as caller:
        await caller.call("ok", {"order": "A-4711"})
    (sent,), (handled,) = spans(traced, "tools/call ok"), spans(traced, "tools/call ok", SpanKind.SERVER)
    for name in (
        semconv.TOOL_ARGS_HASH,
        semconv.TOOL_ARGS_BYTES,
        semconv.TOOL_ARGS_LEAVES,
        semconv.TOOL_RESULT_HASH,
        semconv.TOOL_RESULT_BYTES,
        semconv.TOOL_RESULT_LEAVES,
        semconv.HASH_KEY_ID,
        semconv.JSONRPC_REQUEST_ID,
        semconv.GEN_AI_TOOL_NAME,
    ):
        assert attributes(sent)[name] == attributes(handled)[name]


@modes
async def test_pages_of_a_list_belong_together(traced: InMemorySpanExporter, mode: str) -> None:
    async with opened(build("low"), mode, nothing_heard) as caller:
        page = await caller.page(None)
        for _ in range(2):
            page = await caller.page(page.next_cursor if MODERN else page.nextCursor)
    pages = [attributes(span) for span in spans(traced, "tools/list")]
    assert [True, True, False] == [page[semconv.MCP_MORE_PAGES] for page in pages]
    cursors = [page.get(semconv.MCP_CURSOR) for page in pages]
    assert cursors[0] is None
    assert len({*cursors}) == 3
    assert len({page[semconv.MCP_CONNECTION_ID] for page in pages}) == 1
    assert 7 == sum(page[semconv.TOOLS_COUNT] for page in pages)


@modes
async def test_lists_that_nobody_asked_for_are_marked_and_no_work_of_the_tool(
    traced: InMemorySpanExporter, mode: str
) -> None:
    listed: list[str | None] = []

    async def call(_name: str, _arguments: Any, _session: Any) -> dict[str, Any]:
        return text("fine")

    async def listing(cursor: str | None) -> dict[str, Any]:
        listed.append(cursor)
        await asyncio.sleep(BRIEF)
        return {"tools": [TOOL]}

    async with opened(custom(call, listing), mode, nothing_heard) as caller:
        await asyncio.gather(*(caller.call("ok") for _ in range(3)))
    hidden = spans(traced, "tools/list")
    calls = {span.context.span_id: span for span in spans(traced, "tools/call ok") if span.context}
    assert len(listed) == len(hidden)
    assert (0 if VERSION < (1, 10) else 1) <= len(hidden)
    for span in hidden:
        assert attributes(span)[semconv.MCP_HIDDEN] is True
        assert seconds(span) > 0.9 * BRIEF
        assert span.parent is not None
        outer = calls[span.parent.span_id]
        assert attributes(outer)[semconv.MCP_VALIDATION_TIME] < BRIEF


@modes
async def test_cancelled_and_timed_out_calls_are_no_success(traced: InMemorySpanExporter, mode: str) -> None:
    async def call(_name: str, _arguments: Any, _session: Any) -> dict[str, Any]:
        await asyncio.Event().wait()
        return text("never")

    async with opened(custom(call), mode, nothing_heard) as caller:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(caller.call("slow"), BRIEF)
        with pytest.raises(Exception, match=r"(?i)timed out"):
            await caller.call("slow", timeout=BRIEF)
    cancelled, late = spans(traced, "tools/call slow")
    for span in (cancelled, late):
        assert 0.9 * BRIEF < seconds(span) < 4 * BRIEF
    assert attributes(cancelled)[semconv.CANCELLED] is True
    assert attributes(late)[semconv.TIMED_OUT] is True
    assert (StatusCode.UNSET, StatusCode.ERROR) == (cancelled.status.status_code, late.status.status_code)
    assert [True, True] == [
        attributes(span)[semconv.CANCELLED] for span in spans(traced, "tools/call slow", SpanKind.SERVER)
    ]


async def test_storm_of_changes_is_counted(traced: InMemorySpanExporter) -> None:
    heard: list[Any] = []

    async def call(_name: str, _arguments: Any, session: Any) -> dict[str, Any]:
        for _ in range(50):
            await session.send_tool_list_changed()
        return text("done")

    async with opened(custom(call), "legacy", heard.append) as caller:
        await caller.call("churn")
        await caller.call("churn")
    (close,) = spans(traced, "mcp.close custom")
    assert 100 == attributes(close)[semconv.MCP_SESSION_LIST_CHANGES] == len(heard)
    assert 100 == attributes(close)[semconv.MCP_SESSION_NOTIFICATIONS]
    assert 100 == sum(attributes(span).get(semconv.MCP_LIST_CHANGES, 0) for span in spans(traced, "tools/call churn"))
    assert [] == [span.name for span in traced.get_finished_spans() if "list_changed" in span.name]


async def test_list_that_a_change_leads_to_neither_blocks_the_call_nor_is_its_work(
    traced: InMemorySpanExporter,
) -> None:
    listings: list[asyncio.Task[Any]] = []

    async def call(_name: str, _arguments: Any, session: Any) -> dict[str, Any]:
        await session.send_tool_list_changed()
        await asyncio.sleep(BRIEF)
        return text("done")

    def heard(_message: Any) -> None:
        listings.append(asyncio.create_task(caller.page(None)))

    async with opened(custom(call), "legacy", heard) as caller:
        await caller.call("change")
        await asyncio.gather(*listings)
    (changed,) = spans(traced, "tools/call change")
    (listed,) = (span for span in spans(traced, "tools/list") if not attributes(span)[semconv.MCP_HIDDEN])
    assert seconds(changed) < 1
    assert 1 == attributes(changed)[semconv.MCP_LIST_CHANGES]
    assert (changed.start_time or 0) < (listed.start_time or 0) < (changed.end_time or 0)


async def test_what_takes_us_long_is_no_work_of_the_server(
    traced: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*_: Any) -> dict[str, Any]:
        time.sleep(BRIEF)
        return {}

    async def call(_name: str, _arguments: Any, _session: Any) -> dict[str, Any]:
        return text("fine")

    monkeypatch.setattr(handled, "outline", slowly)
    monkeypatch.setattr(handled, "request", slowly)
    async with opened(custom(call), "legacy", nothing_heard) as caller:
        await caller.call("ok")
    (span,) = spans(traced, "tools/call ok", SpanKind.SERVER)
    assert seconds(span) < BRIEF / 2


async def test_closing_tells_how_much_a_session_was_used(traced: InMemorySpanExporter) -> None:
    async with opened(build("low"), "legacy", nothing_heard) as caller:
        for _ in range(3):
            await caller.page(None)
        await asyncio.sleep(BRIEF)
    (close,) = spans(traced, "mcp.close shop")
    assert 4 == attributes(close)[semconv.MCP_SESSION_REQUESTS]
    assert 0.9 * BRIEF < attributes(close)[semconv.MCP_SESSION_DURATION] < 10 * BRIEF
