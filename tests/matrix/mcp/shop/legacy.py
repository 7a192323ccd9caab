"""The shop as a server of mcp 1.x."""

from __future__ import annotations

import importlib
import os
from typing import Any

import anyio

# The names of 1.x do not exist in the SDK that the types are checked with.
types: Any = importlib.import_module("mcp.types")
lowlevel: Any = importlib.import_module("mcp.server.lowlevel.server")

PAGES = {None: (["ok", "bad"], "p2"), "p2": (["slow", "rest", "work"], "p3"), "p3": (["announce", "pair"], None)}
NAP = 0.5  # s: longer than any caller waits
MOMENT = 0.05  # s: what was sent by another stream arrives before the answer

_asleep: set[object] = set()  # the calls that take long
_awake: list[anyio.Event] = []  # who waits for their ends


def high() -> Any:
    """With the decorators that most servers are written with."""
    fastmcp: Any = importlib.import_module("mcp.server.fastmcp")
    server = fastmcp.FastMCP("shop", log_level="ERROR")

    async def work(ctx: Any) -> str:
        await ctx.report_progress(1, 2)
        await ctx.report_progress(2, 2)
        await anyio.sleep(MOMENT)
        return "worked"

    async def announce(ctx: Any) -> str:
        await ctx.session.send_tool_list_changed()
        await anyio.sleep(MOMENT)
        return "announced"

    work.__annotations__["ctx"] = announce.__annotations__["ctx"] = fastmcp.Context
    for tool in (ok, bad, slow, rest, work, announce, pair):
        server.add_tool(tool)
    server.resource("shop://hours")(hours)
    server.prompt()(greet)
    return server


def low() -> Any:
    """With the lowest layer, the only one whose lists have pages."""
    server = lowlevel.Server("shop")
    server.request_handlers[types.ListToolsRequest] = _list
    server.request_handlers[types.CallToolRequest] = _caller(server)
    server.request_handlers[types.ReadResourceRequest] = _read
    server.request_handlers[types.GetPromptRequest] = _get
    return server


def custom(call: Any, listing: Any) -> Any:
    """Answers as the two functions say."""
    server = lowlevel.Server("custom")

    async def called(request: Any) -> Any:
        found = await call(request.params.name, request.params.arguments or {}, server.request_context.session)
        return types.ServerResult(types.CallToolResult.model_validate(found))

    async def listed(request: Any) -> Any:
        found = await listing(request.params.cursor if request.params else None)
        return types.ServerResult(types.ListToolsResult.model_validate(found))

    server.request_handlers[types.CallToolRequest] = called
    server.request_handlers[types.ListToolsRequest] = listed
    return server


def ok(order: str = "A-4711") -> str:
    """Answers."""
    return f"order {order} shipped"


def bad() -> str:
    """Fails."""
    raise ValueError("no such order")


async def slow() -> str:
    """Takes longer than anybody waits."""
    call = object()
    _asleep.add(call)
    try:
        await anyio.sleep(NAP)
    finally:
        _asleep.discard(call)
        while not _asleep and _awake:
            _awake.pop().set()
    return "late"


async def rest() -> str:
    """Answers when nobody is asleep."""
    if _asleep:
        _awake.append(anyio.Event())
        await _awake[-1].wait()
    return "rested"


def pair() -> dict[str, str]:
    """Answers with text and structure, where the SDK can."""
    return {"order": "A-4711", "status": "shipped"}


def hours() -> str:
    """When the shop is open."""
    return "9-17"


def greet(name: str) -> str:
    """A greeting."""
    return f"Say hello to {name}."


async def _list(request: Any) -> Any:
    names, following = PAGES[request.params.cursor if request.params else None]
    tools = [types.Tool(name=name, inputSchema={"type": "object"}) for name in names]
    return types.ServerResult(types.ListToolsResult(tools=tools, nextCursor=following))


def _caller(server: Any) -> Any:
    async def call(request: Any) -> Any:
        session, token = server.request_context.session, getattr(request.params.meta, "progressToken", None)
        text, failed = await _called(request.params, session, token, server.request_context.request_id)
        content = [types.TextContent(type="text", text=text)]
        return types.ServerResult(types.CallToolResult(content=content, isError=failed))

    return call


async def _called(params: Any, session: Any, token: Any, request_id: Any) -> tuple[str, bool]:
    if params.name == "ok":
        return ok(**(params.arguments or {})), False
    if params.name == "die":
        os._exit(3)
    if params.name == "slow":
        return await slow(), False
    if params.name == "rest":
        return await rest(), False
    if params.name == "work":
        for step in (1.0, 2.0):
            await session.send_progress_notification(token, step, 2.0, related_request_id=str(request_id))
        await anyio.sleep(MOMENT)
        return "worked", False
    if params.name == "announce":
        await session.send_tool_list_changed()
        await anyio.sleep(MOMENT)
        return "announced", False
    return ("no such order" if params.name == "bad" else f"no tool {params.name}"), True


async def _read(request: Any) -> Any:
    contents = [types.TextResourceContents(uri=request.params.uri, mimeType="text/plain", text=hours())]
    return types.ServerResult(types.ReadResourceResult(contents=contents))


async def _get(request: Any) -> Any:
    text = types.TextContent(type="text", text=greet(**request.params.arguments))
    message = types.PromptMessage(role="user", content=text)
    return types.ServerResult(types.GetPromptResult(messages=[message]))
