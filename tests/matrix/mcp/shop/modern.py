"""The shop as a server of mcp 2.x."""

from __future__ import annotations

import importlib
import os
from typing import Any

import anyio
from tests.matrix.mcp.shop.legacy import MOMENT, PAGES, bad, greet, hours, ok, pair, rest, slow

types: Any = importlib.import_module("mcp_types")


def high() -> Any:
    """With the decorators that most servers are written with."""
    mcpserver: Any = importlib.import_module("mcp.server.mcpserver")
    server = mcpserver.MCPServer("shop", log_level="ERROR")

    async def work(ctx: Any) -> str:
        await ctx.report_progress(1, 2)
        await ctx.report_progress(2, 2)
        await anyio.sleep(MOMENT)
        return "worked"

    async def announce(ctx: Any) -> str:
        await ctx.session.send_tool_list_changed()
        await anyio.sleep(MOMENT)
        return "announced"

    work.__annotations__["ctx"] = announce.__annotations__["ctx"] = mcpserver.Context
    for tool in (ok, bad, slow, rest, work, announce, pair):
        server.add_tool(tool)
    server.resource("shop://hours")(hours)
    server.prompt()(greet)
    return server


def low() -> Any:
    """With the lowest layer, the only one whose lists have pages."""
    lowlevel: Any = importlib.import_module("mcp.server.lowlevel.server")
    return lowlevel.Server("shop", on_list_tools=_list, on_call_tool=_call, on_read_resource=_read, on_get_prompt=_get)


def custom(call: Any, listing: Any) -> Any:
    """Answers as the two functions say."""
    lowlevel: Any = importlib.import_module("mcp.server.lowlevel.server")

    async def called(ctx: Any, params: Any) -> Any:
        return types.CallToolResult.model_validate(await call(params.name, params.arguments or {}, ctx.session))

    async def listed(_ctx: Any, params: Any) -> Any:
        return types.ListToolsResult.model_validate(await listing(params.cursor if params else None))

    return lowlevel.Server("custom", on_call_tool=called, on_list_tools=listed)


async def _list(_ctx: Any, params: Any) -> Any:
    names, following = PAGES[params.cursor if params else None]
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in names]
    return types.ListToolsResult(tools=tools, next_cursor=following)


async def _call(ctx: Any, params: Any) -> Any:
    text, failed = await _called(ctx, params)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)


async def _called(ctx: Any, params: Any) -> tuple[str, bool]:
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
            await ctx.session.report_progress(step, 2.0)
        await anyio.sleep(MOMENT)
        return "worked", False
    if params.name == "announce":
        await ctx.session.send_tool_list_changed()
        await anyio.sleep(MOMENT)
        return "announced", False
    return ("no such order" if params.name == "bad" else f"no tool {params.name}"), True


async def _read(_ctx: Any, params: Any) -> Any:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=hours())])


async def _get(_ctx: Any, params: Any) -> Any:
    text = types.TextContent(type="text", text=greet(**params.arguments))
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])
