"""Where requests leave the client: exactly one span each, however many layers of the SDK they pass."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from spanwise import semconv
from spanwise.mcp import call, connection
from spanwise.mcp.call import NAMED, Call
from spanwise.mcp.patch import Patches
from spanwise.mcp.progress import counting
from spanwise.mcp.scope import around
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_rounds: ContextVar[list[Call] | None] = ContextVar("spanwise_mcp_rounds", default=None)


def install(patches: Patches) -> None:
    """Watch the typed methods, which wait for all that the caller waits for, and the wire below them."""
    patches.wrap("mcp.client.client:Client", "call_tool", _all_rounds)
    patches.wrap("mcp.client.client:Client", "_relist_tool", by_itself, known=False)  # from 2.1 on
    patches.wrap("mcp.client.session:ClientSession", "initialize", _initialize)
    patches.wrap("mcp.client.session:ClientSession", "call_tool", call_tool)
    patches.wrap("mcp.client.session:ClientSession", "send_request", _send_request)
    patches.wrap("mcp.client.session:ClientSession", "validate_tool_result", validate)
    patches.wrap("mcp.shared.jsonrpc_dispatcher:JSONRPCDispatcher", "send_raw_request", _send_raw)
    patches.wrap("mcp.shared.direct_dispatcher:DirectDispatcher", "send_raw_request", _send_direct)


async def _all_rounds(wrapped: Any, _instance: Any, args: Args, kwargs: Kwargs) -> Any:
    token = _rounds.set([])
    try:
        return await wrapped(*args, **kwargs)
    finally:
        _rounds.reset(token)


async def by_itself(wrapped: Any, _instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """Requests from here are the SDK's own idea."""
    token = call.hidden.set(True)
    try:
        return await wrapped(*args, **kwargs)
    finally:
        call.hidden.reset(token)


async def _initialize(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with around(opened_for(instance, semconv.MCP_INITIALIZE) if instance.initialize_result is None else None):
        return await wrapped(*args, **kwargs)


async def call_tool(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """A tool call with what the client does around it."""
    opened = opened_for(instance, semconv.MCP_TOOLS_CALL, args[0] if args else kwargs.get("name"))
    _count(opened)
    with around(opened):
        return await wrapped(*args, **kwargs)


async def _send_request(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    request = args[0] if args else kwargs.get("request")
    with around(_for_request(instance, request)):
        return await wrapped(*args, **kwargs)


async def validate(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """Compare a result with its schema, and fetch the schema first where it is not known."""
    within = call.current()
    start_ns = time.perf_counter_ns()
    try:
        return await by_itself(wrapped, instance, args, kwargs)
    finally:
        if within is not None and not within.end_ns:
            within.validation_ns = time.perf_counter_ns() - start_ns


async def _send_raw(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    opened, active = _for_message(instance, *args, **kwargs) or (None, None)
    if active is None:
        return await wrapped(*args, **kwargs)
    with around(opened):
        active.result = await _send(wrapped, active, *args, **kwargs)
        return active.result


async def _send_direct(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    opened, active = _for_message(instance, *args, **kwargs) or (None, None)
    if active is None:
        return await wrapped(*args, **kwargs)
    active.direct = True
    with around(opened):
        active.result = await _send(wrapped, active, *args, **kwargs)
        return active.result


async def _send(wrapped: Any, active: Call, method: str, params: Any, opts: Any = None, **rest: Any) -> Any:
    active.send(params)
    return await wrapped(method, params, counting(active, opts), **rest)


@guarded
def opened_for(session: Any, method: str, name: str | None = None) -> Call:
    """The call that a method of ``session`` is about to make."""
    return Call(connection.of_session(session), method, name)


@guarded
def _count(opened: Call | None) -> None:
    rounds = _rounds.get()
    if opened is not None and rounds is not None:
        rounds.append(opened)
        opened.rounds = len(rounds)


@guarded
def _for_request(session: Any, request: Any) -> Call | None:
    params = getattr(request, "params", None)
    name = getattr(params, "name", None) if request.method in NAMED else None
    return unless_waiting(connection.of_session(session), request.method, name)


@guarded
def _for_message(
    dispatcher: Any, method: str, params: Mapping[str, Any] | None, *_: Any, **__: Any
) -> tuple[Call | None, Call]:
    """The span that this message opens, if any, and the one that it belongs to."""
    name = (params or {}).get("name") if method in NAMED else None
    opened = unless_waiting(connection.of_dispatcher(dispatcher), method, name if isinstance(name, str) else None)
    waiting = opened or call.current()
    assert waiting is not None  # noqa: S101 - nothing was opened because one is waiting
    return opened, waiting


def unless_waiting(owner: connection.Connection, method: str, name: str | None) -> Call | None:
    """A new call, unless one was opened that waits for just this request."""
    waiting = call.current()
    return None if waiting is not None and waiting.takes(owner, method) else Call(owner, method, name)
