"""Where connections come from: a client, or a transport and a session put together by the caller."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from contextvars import ContextVar
from typing import Any, Final

from spanwise import context
from spanwise.mcp import child, connection, handshake, target, transport
from spanwise.mcp.connecting import Connecting
from spanwise.mcp.connection import Connection
from spanwise.mcp.patch import Patches
from spanwise.mcp.scope import around
from spanwise.mcp.target import Target, Transport
from spanwise.mcp.transport import Kind
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

SSE: Final = Kind(lambda arguments: target.url(str(arguments.get("url"))))

# When the SDK began to build an HTTP client for a transport that is about to be made in this context.
_building: ContextVar[int | None] = ContextVar("spanwise_mcp_building", default=None)


def install(patches: Patches) -> None:
    """Watch clients and sessions being opened."""
    patches.wrap("mcp.client.client:Client", "__aenter__", _enter_client)
    patches.wrap("mcp.client.client:Client", "_build_session", _build_session)
    patches.wrap("mcp.client.session:ClientSession", "__init__", _make_session)
    patches.wrap("mcp.client.session:ClientSession", "adopt", _adopt)
    patches.wrap("mcp.client.stdio", "_create_platform_compatible_process", spawn)
    patches.wrap("mcp.client.streamable_http", "create_mcp_http_client", _build_http_client)
    patches.wrap("mcp.client.streamable_http:StreamableHTTPTransport", "__init__", _make_http_transport)
    patches.wrap("mcp.client._memory:InMemoryTransport", "__aenter__", _enter_memory)
    transport.watch(patches, "mcp.client.sse", "sse_client", SSE)


async def _enter_client(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    opened = Connection()
    try:
        with connection.opening(opened):
            return await wrapped(*args, **kwargs)
    finally:
        _entered(instance, opened)


async def _build_session(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with around(_connecting_client(instance)):
        return await wrapped(*args, **kwargs)


def _make_session(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    made = wrapped(*args, **kwargs)
    _register(instance)
    return made


def _adopt(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    adopted = wrapped(*args, **kwargs)
    _adopted(instance)
    return adopted


async def spawn(wrapped: Any, _instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """Start a server's process: apart from the protocol, which the first request speaks."""
    owner, connecting = _spawning(*args, **kwargs) or (None, None)
    start_ns = time.perf_counter_ns()
    with around(connecting):
        process = await wrapped(*args, **(_informed(kwargs) or kwargs))
        _spawned(owner, process, time.perf_counter_ns() - start_ns)
    return process


def _build_http_client(wrapped: Any, _instance: Any, args: Args, kwargs: Kwargs) -> Any:
    _building.set(time.time_ns())
    return wrapped(*args, **kwargs)


def _make_http_transport(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    made = wrapped(*args, **kwargs)
    _http(instance)
    return made


async def _enter_memory(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    _memory(instance)
    return await wrapped(*args, **kwargs)


@guarded
def _entered(client: Any, opened: Connection) -> None:
    cache = client._response_cache  # noqa: SLF001 - the SDK offers no other way to tell whose cache it is
    if cache is not None and client._session is not None:  # noqa: SLF001
        connection.caches[cache] = opened
    opened.finish_connecting()


@guarded
def _connecting_client(client: Any) -> Connecting | None:
    opened = connection.being_opened()
    if opened is None:
        return None
    opened.target = _target(client.server)
    return Connecting(opened)


def _target(server: Any) -> Target:
    from mcp.client.stdio import StdioServerParameters
    from mcp.server import Server
    from mcp.server.mcpserver import MCPServer

    if isinstance(server, str):
        return target.url(server)
    if isinstance(server, StdioServerParameters):
        return target.command(server.command, server.args)
    if isinstance(server, Server | MCPServer):
        return target.in_process(server.name)
    return Target()  # a transport of the caller: it names itself when it opens


@guarded
def _register(session: Any) -> None:
    from mcp.shared._context_streams import ContextSendStream

    dispatcher = connection.dispatcher(session)
    stream = getattr(dispatcher, "_write_stream", None)
    kind = Transport.HTTP if isinstance(stream, ContextSendStream) else Transport.STDIO
    seen = connection.being_opened() or connection.of_stream(stream)
    owner = seen or connection.claim(kind) or Connection(ready=True)
    owner.session_started()
    connection.dispatchers[dispatcher] = owner


@guarded
def _adopted(session: Any) -> None:
    handshake.adopted(connection.of_session(session), session)


@guarded
def _spawning(command: str, args: list[str], *_: Any, **__: Any) -> tuple[Connection, Connecting | None]:
    found = target.command(command, args)
    owner = connection.being_opened()
    if owner is not None:
        owner.target = found
        return owner, None
    owner = Connection(found)
    connection.offer(owner)
    return owner, Connecting(owner)


@guarded
def _informed(kwargs: Kwargs) -> Kwargs:
    """``kwargs`` of the spawning, with our settings in an environment that does not hold all of this process's."""
    given = kwargs.get("env")
    return kwargs if given is None else {**kwargs, "env": child.environment(given, os.environ)}


@guarded
def _spawned(owner: Connection | None, process: Any, took_ns: int) -> None:
    if owner is None or owner.connecting is None:
        return
    connection.processes[process] = owner
    owner.connecting.pid, owner.connecting.spawn_ns = process.pid, took_ns


@guarded
def _http(made: Any) -> None:
    found = target.url(made.url)
    built_ns = _building.get()
    _building.set(None)
    with ExitStack() as stack:
        owner = connection.being_opened()
        if owner is None:
            owner = Connection()
            connection.offer(owner)
        owner.target = found
        if owner.connecting is None:
            stack.enter_context(Connecting(owner, start_ns=built_ns))
        if owner.connecting is not None:
            owner.connecting.reused = built_ns is None
    bind(owner, made, found)


def bind(owner: Connection, made: Any, found: Target) -> None:
    """Let ``owner`` have the HTTP transport ``made``, which leads to the target ``found``."""
    owner.target, owner.transport = found, made
    connection.transports[made] = owner
    context.allow_host(found.address)


@guarded
def _memory(made: Any) -> None:
    owner = connection.being_opened()
    if owner is not None and owner.target.transport is None:
        owner.target = target.in_process(made._server.name)  # noqa: SLF001
