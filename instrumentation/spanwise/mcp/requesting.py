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
    from mcp.client.client import Client
    from mcp.client.session import ClientSession
    from mcp.shared.direct_dispatcher import DirectDispatcher
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

    patches.wrap(Client, "call_tool", _all_rounds)
    patches.wrap(Client, "_relist_tool", _by_itself)
    patches.wrap(ClientSession, "initialize", _initialize)
    patches.wrap(ClientSession, "call_tool", _call_tool)
    patches.wrap(ClientSession, "send_request", _send_request)
    patches.wrap(ClientSession, "validate_tool_result", _validate)
    patches.wrap(JSONRPCDispatcher, "send_raw_request", _send_raw)
    patches.wrap(DirectDispatcher, "send_raw_request", _send_direct)


async def _all_rounds(wrapped: Any, _instance: Any, args: Args, kwargs: Kwargs) -> Any:
    token = _rounds.set([])
    try:
        return await wrapped(*args, **kwargs)
    finally:
        _rounds.reset(token)


async def _by_itself(wrapped: Any, _instance: Any, args: Args, kwargs: Kwargs) -> Any:
    token = call.hidden.set(True)
    try:
        return await wrapped(*args, **kwargs)
    finally:
        call.hidden.reset(token)


async def _initialize(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with around(_opened(instance, semconv.MCP_INITIALIZE) if instance.initialize_result is None else None):
        return await wrapped(*args, **kwargs)


async def _call_tool(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    opened = _opened(instance, semconv.MCP_TOOLS_CALL, args[0] if args else kwargs.get("name"))
    _count(opened)
    with around(opened):
        return await wrapped(*args, **kwargs)


async def _send_request(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    request = args[0] if args else kwargs.get("request")
    with around(_for_request(instance, request)):
        return await wrapped(*args, **kwargs)


async def _validate(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    within = call.current()
    start_ns = time.perf_counter_ns()
    try:
        return await _by_itself(wrapped, instance, args, kwargs)
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
def _opened(session: Any, method: str, name: str | None = None) -> Call:
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
    return _unless_waiting(connection.of_session(session), request.method, name)


@guarded
def _for_message(
    dispatcher: Any, method: str, params: Mapping[str, Any] | None, *_: Any, **__: Any
) -> tuple[Call | None, Call]:
    """The span that this message opens, if any, and the one that it belongs to."""
    name = (params or {}).get("name") if method in NAMED else None
    opened = _unless_waiting(connection.of_dispatcher(dispatcher), method, name if isinstance(name, str) else None)
    waiting = opened or call.current()
    assert waiting is not None  # noqa: S101 - nothing was opened because one is waiting
    return opened, waiting


def _unless_waiting(owner: connection.Connection, method: str, name: str | None) -> Call | None:
    waiting = call.current()
    return None if waiting is not None and waiting.takes(owner, method) else Call(owner, method, name)
