"""Peers made by hand, who number their messages as they like."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import ClientSession
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from tests.matrix.mcp import tree
from tests.matrix.mcp.shop.sdk import MODERN
from tests.matrix.mcp.sink import Sink

from spanwise import semconv

SERVER = Path(__file__).parent / "shop" / "serve.py"
GREETING: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "by hand", "version": "1"},
}


def line(method: str, params: dict[str, Any], **rest: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **rest}) + "\n"


def test_ids_that_look_alike_are_two_requests_to_the_server(sink: Sink) -> None:
    command = [sys.executable, str(SERVER), "low", "stdio", "traced"]
    with subprocess.Popen(
        command, env=sink.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line("initialize", GREETING, id="hello"))
        process.stdin.flush()
        assert "hello" == json.loads(process.stdout.readline())["id"]
        process.stdin.write(line("notifications/initialized", {}))
        process.stdin.write(line("tools/call", {"name": "work", "arguments": {}, "_meta": {"progressToken": 0}}, id=0))
        process.stdin.write(line("tools/call", {"name": "ok", "arguments": {}}, id="0"))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(4)]
        process.stdin.close()
    progress = [answer["params"]["progressToken"] for answer in answers if "method" in answer]
    assert [0, 0] == progress
    # The oldest versions read an id of digits as a number.
    assert ["0", "0"] == [str(answer["id"]) for answer in answers if "id" in answer]
    calls = [node for node in tree.remote(sink.spans) if node.name.startswith("tools/call")]
    assert {"tools/call work", "tools/call ok"} == {node.name for node in calls}
    assert ["0", "0"] == [node.attributes[semconv.JSONRPC_REQUEST_ID] for node in calls]
    assert len({node.id for node in calls}) == 2


async def test_progress_of_the_very_first_request_is_counted(traced: InMemorySpanExporter) -> None:
    seen: list[float] = []

    async def progressed(progress: float, _total: float | None, _message: str | None) -> None:
        seen.append(progress)

    async with create_client_server_memory_streams() as (client, server):
        peer = asyncio.create_task(by_hand(*server))
        async with ClientSession(*client) as session:
            one = asyncio.create_task(called(session, "one", progressed))
            two = asyncio.create_task(called(session, "two", None))
            await asyncio.gather(one, two)
        await peer
    spans = {
        span.name: span.attributes or {}
        for span in traced.get_finished_spans()
        if span.kind is SpanKind.CLIENT and span.name.startswith("tools/call")
    }
    first = 1 if MODERN else 0
    assert [str(first), str(first + 1)] == [
        spans[f"tools/call {name}"][semconv.JSONRPC_REQUEST_ID] for name in ("one", "two")
    ]
    assert (2, None) == (
        spans["tools/call one"].get(semconv.MCP_PROGRESS_COUNT),
        spans["tools/call two"].get(semconv.MCP_PROGRESS_COUNT),
    )
    assert [1.0, 2.0] == seen


async def called(session: Any, name: str, progressed: Any) -> None:
    """A call without any greeting; what a validation of the answer lists comes afterwards."""
    await session.call_tool(name, {}, progress_callback=progressed)


async def by_hand(read: Any, write: Any) -> None:
    """Answer the second call before the first; its id comes back as text."""
    waiting: list[Any] = []
    async with read, write:
        async for item in read:
            message = getattr(item.message, "root", item.message)
            if message.method == "tools/list":
                await write.send(answer(message.id, {"tools": []}))
                continue
            waiting.append(message)
            if len(waiting) == 2:
                await answered(write, *waiting)


async def answered(write: Any, one: Any, two: Any) -> None:
    await write.send(answer(str(two.id), {"content": []}))
    for step in (1, 2):
        token = one.params["_meta"]["progressToken"]
        await write.send(frame(method="notifications/progress", params={"progressToken": token, "progress": step}))
    await write.send(answer(one.id, {"content": []}))


def answer(request: Any, result: dict[str, Any]) -> SessionMessage:
    return frame(id=request, result=result)


def frame(**parts: Any) -> SessionMessage:
    text = json.dumps({"jsonrpc": "2.0", **parts})
    if MODERN:
        from mcp_types import jsonrpc_message_adapter

        return SessionMessage(jsonrpc_message_adapter.validate_json(text))
    import mcp.types

    legacy: Any = mcp.types
    return SessionMessage(legacy.JSONRPCMessage.model_validate_json(text))
