"""Where connections end."""

from __future__ import annotations

import time
from contextvars import ContextVar, Token
from typing import Any

from opentelemetry.context import Context
from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.mcp import connection
from spanwise.mcp.connection import Connection
from spanwise.mcp.patch import Patches
from spanwise.mcp.scope import Scope, around, rootless
from spanwise.safety import guarded

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_NS = 1e9
_closing: ContextVar[bool] = ContextVar("spanwise_mcp_closing", default=False)


class Closing(Scope):
    """``mcp.close {server}``: from the wish to close until nothing is open any more."""

    def __init__(self, owner: Connection, before: BaseException | None = None) -> None:
        super().__init__(f"mcp.close {owner.name}".rstrip(), owner)
        self._before = before  # what the caller's own block ended with: no failure of closing
        self._mark: Token[bool] | None = None

    def parent(self) -> Context | None:
        """Closing outside any span belongs to the trace of connecting."""
        return rootless(self.connection)

    def entered(self) -> None:
        """What is closed inside is part of this."""
        self.connection.finish_connecting()
        self._mark = _closing.set(True)

    def left(self) -> None:
        """Over."""
        if self._mark is not None:
            _closing.reset(self._mark)

    def failure(self, error: BaseException | None) -> BaseException | None:
        """An error that comes from closing itself."""
        return None if error is None or _stems_from(error, self._before) else error

    def attributes(self) -> dict[str, AttributeValue]:
        """How much the connection was used."""
        found = super().attributes()
        if self.connection.started_ns:
            found[semconv.MCP_SESSION_REQUESTS] = self.connection.requests
            found[semconv.MCP_SESSION_DURATION] = (time.monotonic_ns() - self.connection.started_ns) / _NS
            found[semconv.MCP_SESSION_NOTIFICATIONS] = self.connection.notices
            found[semconv.MCP_SESSION_LIST_CHANGES] = self.connection.list_changes
            found[semconv.MCP_SESSION_RECONNECTS] = self.connection.reconnects
        return found


def install(patches: Patches) -> None:
    """Watch clients, sessions and transports being closed."""
    patches.wrap("mcp.client.client:Client", "__aexit__", _exit_client)
    patches.wrap("mcp.client.session:ClientSession", "__aexit__", exit_session)
    patches.wrap("mcp.client.stdio", "_stop_server_process", _stop_process)
    patches.wrap("mcp.client.streamable_http:StreamableHTTPTransport", "terminate_session", _terminate_session)


async def _exit_client(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with around(_closing_client(instance, args)):
        return await wrapped(*args, **kwargs)


async def exit_session(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """The end of a session is the end of its connection, unless a transport is closed after it."""
    with around(_closing_session(instance, args)):
        return await wrapped(*args, **kwargs)


async def _stop_process(wrapped: Any, _instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with around(_closing_owner(connection.processes, args[0])):
        return await wrapped(*args, **kwargs)


async def _terminate_session(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
    with around(_closing_owner(connection.transports, instance)):
        return await wrapped(*args, **kwargs)


@guarded
def _closing_client(client: Any, args: Args) -> Closing | None:
    session = client._session  # noqa: SLF001 - the public property raises where there is none
    return None if session is None else Closing(connection.of_session(session), _before(args))


@guarded
def _closing_session(session: Any, args: Args) -> Closing | None:
    owner = connection.of_session(session)
    return None if _closing.get() or _transport_follows(owner) else Closing(owner, _before(args))


def _transport_follows(owner: Connection) -> bool:
    """Whether the transport, which closes right after its session, has something to wait for."""
    return owner.outlives_session or owner.spawned or bool(owner.session_id)


@guarded
def _closing_owner(owners: Any, key: Any) -> Closing | None:
    owner = owners.get(key)
    return None if owner is None or _closing.get() else Closing(owner)


def _before(args: Args) -> BaseException | None:
    return args[1] if len(args) > 1 and isinstance(args[1], BaseException) else None


def _stems_from(error: BaseException, before: BaseException | None) -> bool:
    # Task groups hand the caller's own exception on in groups of one.
    if isinstance(error, BaseExceptionGroup):
        return all(_stems_from(part, before) for part in error.exceptions)
    return error is before
