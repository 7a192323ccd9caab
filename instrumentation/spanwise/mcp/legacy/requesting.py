"""Where requests of 1.x leave: exactly one span each, whose context goes with the message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise import semconv
from spanwise.mcp import call, carrier, connection
from spanwise.mcp.call import NAMED, Call
from spanwise.mcp.legacy.wire import Incoming, Outgoing
from spanwise.mcp.patch import Patches
from spanwise.mcp.progress import counting
from spanwise.mcp.requesting import call_tool, opened_for, unless_waiting, validate
from spanwise.mcp.scope import around
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_NAMES = ("request", "result_type", "request_read_timeout_seconds", "metadata", "progress_callback")


def install(patches: Patches) -> None:
    """Watch the typed methods, which wait for all that the caller waits for, and what all requests pass."""
    patches.wrap("mcp.client.session:ClientSession", "initialize", _initialize)
    patches.wrap("mcp.client.session:ClientSession", "call_tool", call_tool)
    patches.wrap("mcp.client.session:ClientSession", "_validate_tool_result", validate, known=False)  # from 1.10 on
    patches.wrap("mcp.shared.session:BaseSession", "send_request", _send_request)


async def _initialize(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with around(opened_for(instance, semconv.MCP_INITIALIZE)):
        return await wrapped(*args, **kwargs)


async def _send_request(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    options = {**dict(zip(_NAMES, args, strict=False)), **kwargs}
    opened, active = _for_request(instance, options.get("request")) or (None, None)
    if active is None:
        return await wrapped(*args, **kwargs)
    with around(opened):
        changed = _prepared(active, instance, options)
        try:
            return await (wrapped(*args, **kwargs) if changed is None else _called(wrapped, args, changed))
        finally:
            active.connection.calls.pop(active.key, None)


def _called(wrapped: Any, args: Args, options: Kwargs) -> Any:
    """Call it the way the caller did: other wrappers look for the request among the positional arguments."""
    placed = [options[name] for name in _NAMES[: len(args)]]
    return wrapped(*placed, **{name: value for name, value in options.items() if name not in _NAMES[: len(args)]})


@guarded
def _for_request(session: Any, request: Any) -> tuple[Call | None, Call]:
    """The span that this request opens, if any, and the one that it belongs to."""
    message = getattr(request, "root", request)
    name = getattr(getattr(message, "params", None), "name", None) if message.method in NAMED else None
    opened = unless_waiting(connection.of_session(session), message.method, name if isinstance(name, str) else None)
    waiting = opened or call.current()
    assert waiting is not None  # noqa: S101 - nothing was opened because one is waiting
    return opened, waiting


@guarded
def _prepared(active: Call, session: Any, options: Kwargs) -> Kwargs | None:
    """``options`` of a request, so that we see what is sent and what comes back."""
    active.key = session._request_id  # noqa: SLF001 - the SDK takes it next and tells nobody
    active.request_id = str(active.key)
    active.connection.calls[active.key] = active

    @guarded
    def sent(data: dict[str, Any]) -> dict[str, Any]:
        params = data.get("params")
        active.send(params)
        changed = carrier.with_context(params)
        return data if changed is params else {**data, "params": changed}

    @guarded
    def received(result: Any) -> None:
        active.result = result if isinstance(result, Mapping) else None

    changed = dict(counting(active, options, "progress_callback") or options)
    changed["request"] = Outgoing(options["request"], sent)
    changed["result_type"] = Incoming(options["result_type"], received)
    return changed
