"""The span of opening a transport."""

from __future__ import annotations

from opentelemetry.util.types import AttributeValue

from spanwise import semconv, text
from spanwise.mcp import scope
from spanwise.mcp.connection import Connection
from spanwise.mcp.target import Transport
from spanwise.safety import guarded

_NS = 1e9


class Connecting(scope.Scope):
    """``mcp.connect {server}``.

    Its interval ends when the transport is open, but it is written only when the handshake is over: not before then
    does the client know the server's name.
    """

    def __init__(self, connection: Connection, *, start_ns: int | None = None) -> None:
        super().__init__(f"mcp.connect {connection.target.name}".rstrip(), connection, start_ns=start_ns)
        self.pid: int | None = None
        self.spawn_ns: int | None = None
        self.reused = False
        self._failed = False
        connection.connecting = self
        connection.nameless.append(self)

    def failure(self, error: BaseException | None) -> BaseException | None:
        """No handshake follows where opening failed."""
        self._failed = error is not None
        return error

    def write(self) -> None:
        """Not yet, see the class, unless there is nothing to wait for."""
        if self._failed:
            self.connection.finish_connecting()

    @guarded
    def settle(self) -> None:
        """Write the span under the name that is known now."""
        if self.end_ns:
            self.span.update_name(text.encodable(f"mcp.connect {self.connection.name}".rstrip()))
            super().settle()

    def attributes(self) -> dict[str, AttributeValue]:
        """Transport, times, and whether anything had to be started for it."""
        found = super().attributes()
        found[semconv.MCP_CONNECT_TIME] = (self.end_ns - self.start_ns) / _NS
        found[semconv.MCP_HANDSHAKE] = self.connection.handshake
        found[semconv.MCP_REUSED] = self.reused
        found[semconv.MCP_COLD] = self.connection.target.transport is Transport.STDIO
        if self.spawn_ns is not None:
            found[semconv.MCP_SPAWN_TIME] = self.spawn_ns / _NS
        if self.pid is not None:
            found[semconv.MCP_PID] = self.pid
        if self.connection.target.url:
            found[semconv.URL_FULL] = self.connection.target.url
        return found
