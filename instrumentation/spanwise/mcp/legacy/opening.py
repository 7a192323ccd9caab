"""Where connections of 1.x begin and end: transports are generators, and sessions are built on their streams."""

from __future__ import annotations

from typing import Any, Final

from spanwise.mcp import closing, connection, opening, target
from spanwise.mcp.connection import Connection
from spanwise.mcp.patch import Patches
from spanwise.mcp.target import Target
from spanwise.mcp.transport import Arguments, Kind, watch
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def _command(arguments: Arguments) -> Target:
    server = arguments["server"]
    return target.command(server.command, server.args)


def _url(arguments: Arguments) -> Target:
    return target.url(str(arguments["url"]))


_STDIO: Final = Kind(_command)
_HTTP: Final = Kind(_url, reused=lambda arguments: arguments.get("http_client") is not None)
_MEMORY: Final = Kind(lambda _: target.in_process(""), lambda streams: streams[0][1], closes=False)


def install(patches: Patches) -> None:
    """Watch transports and sessions."""
    watch(patches, "mcp.client.stdio", "stdio_client", _STDIO)
    watch(patches, "mcp.client.sse", "sse_client", opening.SSE)
    watch(patches, "mcp.client.streamable_http", "streamablehttp_client", _HTTP)
    watch(patches, "mcp.client.streamable_http", "streamable_http_client", _HTTP, known=False)
    watch(patches, "mcp.shared.memory", "create_client_server_memory_streams", _MEMORY)
    patches.wrap("mcp.client.stdio", "_create_platform_compatible_process", opening.spawn)
    patches.wrap("mcp.client.streamable_http:StreamableHTTPTransport", "__init__", _make_http_transport)
    patches.wrap("mcp.client.session:ClientSession", "__init__", _make_session)
    patches.wrap("mcp.shared.session:BaseSession", "__aexit__", _exit_session)


def _make_http_transport(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    made = wrapped(*args, **kwargs)
    _bind(instance)
    return made


def _make_session(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    made = wrapped(*args, **kwargs)
    _register(instance)
    return made


async def _exit_session(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    if instance not in connection.dispatchers:  # a server's session
        return await wrapped(*args, **kwargs)
    return await closing.exit_session(wrapped, instance, args, kwargs)


@guarded
def _bind(made: Any) -> None:
    owner = connection.being_opened()
    if owner is not None:
        opening.bind(owner, made, target.url(made.url))


@guarded
def _register(session: Any) -> None:
    stream = session._write_stream  # noqa: SLF001 - the SDK offers no other way
    owner = connection.of_stream(stream) or (connection.claim() if _foreign(stream) else None)
    owner = owner or Connection(ready=True)
    owner.session_started()
    connection.dispatchers[session] = owner


def _foreign(stream: Any) -> bool:
    """Whether a caller put something of its own around a transport's stream: then there is only a guess."""
    from anyio.streams.memory import MemoryObjectSendStream

    return type(stream) is not MemoryObjectSendStream
