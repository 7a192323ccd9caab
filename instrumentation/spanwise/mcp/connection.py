"""One client connection to one MCP server: what every span on it carries, and the finding of it again."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.mcp.target import Target, Transport

if TYPE_CHECKING:
    from spanwise.mcp.connecting import Connecting


class Nameless(Protocol):
    """A span whose work is over, and that is written when the connection knows its server's name."""

    def settle(self) -> None:
        """Write it."""


_NETWORK = {Transport.STDIO: "pipe", Transport.HTTP: "tcp"}


@dataclass(slots=True, eq=False)
class Connection:
    """What is known of a connection so far; it learns as its requests are answered."""

    target: Target = field(default_factory=Target)
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    transport: Any = None  # the SDK's HTTP transport: it learns the session id
    server_name: str = ""
    server_version: str = ""
    protocol: str = ""
    handshake: str = "none"
    probed: bool = False  # a server/discover went out
    requests: int = 0
    started_ns: int = 0  # time.monotonic_ns of the session; 0 while there is none
    hints: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # annotations by tool, from lists seen here
    connecting: Connecting | None = None
    claimed: bool = False
    outlives_session: bool = False  # its transport is closed after the session, and that is seen
    calls: dict[Any, Any] = field(default_factory=dict)  # by id, where the SDK loses their context
    notices: int = 0  # notifications that came from the server
    list_changes: int = 0  # of these, the ones that say that a list is no longer the same
    reconnects: int = 0
    ready: bool = False  # set-up is over
    nameless: list[Nameless] = field(default_factory=list)  # spans that wait for the server's name
    _written: tuple[Any, dict[str, AttributeValue]] = (None, {})

    @property
    def name(self) -> str:
        """The server's own name, else one from command or URL."""
        return self.server_name or self.target.name

    @property
    def spawned(self) -> bool:
        """Whether a server process was started for this connection."""
        return self.connecting is not None and self.connecting.pid is not None

    @property
    def session_id(self) -> str:
        """The HTTP session's id; empty where there is none."""
        return getattr(self.transport, "session_id", None) or ""

    def session_started(self) -> None:
        """A session works on this connection from now on."""
        self.claimed = True
        self.started_ns = time.monotonic_ns()

    def finish_connecting(self) -> None:
        """Set-up is over: the spans that waited for the server's name can be written."""
        self.ready = True
        while self.nameless:
            self.nameless.pop().settle()

    def attributes(self) -> dict[str, AttributeValue]:
        """The attributes that every span on this connection carries; worked out anew only when it has learned."""
        state = (self.target, self.server_name, self.server_version, self.protocol, self.session_id, self._own())
        if self._written[0] != state:
            self._written = state, self._attributes()
        return self._written[1].copy()

    def _own(self) -> bool:
        # A server that asks its client has no connection of its own.
        return bool(self.started_ns or self.connecting)

    def _attributes(self) -> dict[str, AttributeValue]:
        target = self.target
        found: dict[str, AttributeValue | None] = {
            semconv.MCP_CONNECTION_ID: self.id if self._own() else None,
            semconv.MCP_SERVER_NAME: self.name,
            semconv.MCP_SERVER_VERSION: self.server_version,
            semconv.MCP_TRANSPORT: target.transport,
            semconv.MCP_PROTOCOL_VERSION: self.protocol,
            semconv.MCP_SESSION_ID: self.session_id,
            semconv.NETWORK_TRANSPORT: _NETWORK.get(target.transport) if target.transport else None,
            semconv.SERVER_ADDRESS: target.address,
            semconv.SERVER_PORT: target.port,
        }
        return {name: str(value) if isinstance(value, str) else value for name, value in found.items() if value}


# The SDK's objects own their connections: when one is collected, the entry goes with it.
dispatchers: WeakKeyDictionary[Any, Connection] = WeakKeyDictionary()  # on 1.x the session is its own dispatcher
streams: WeakKeyDictionary[Any, Connection] = WeakKeyDictionary()  # by the stream that the client writes to
transports: WeakKeyDictionary[Any, Connection] = WeakKeyDictionary()
processes: WeakKeyDictionary[Any, Connection] = WeakKeyDictionary()
caches: WeakKeyDictionary[Any, Connection] = WeakKeyDictionary()

_opening: ContextVar[Connection | None] = ContextVar("spanwise_mcp_opening", default=None)
_unclaimed: ContextVar[tuple[Connection, ...]] = ContextVar("spanwise_mcp_unclaimed", default=())


@contextmanager
def opening(connection: Connection) -> Iterator[None]:
    """Every transport and session that is made in the block belongs to ``connection``."""
    token = _opening.set(connection)
    try:
        yield
    finally:
        _opening.reset(token)


def being_opened() -> Connection | None:
    """The connection that a client is opening right now in this context."""
    connection = _opening.get()
    # Tasks that were started while it opened still see it afterwards.
    return None if connection is None or connection.ready else connection


def offer(connection: Connection) -> None:
    """A transport was opened without a client around it; the next fitting session takes it."""
    _unclaimed.set((*(other for other in _unclaimed.get() if not other.claimed), connection))


def claim(transport: Transport | None = None) -> Connection | None:
    """The oldest transport (of that kind) that was opened in this context and has no session yet."""
    open_ = (c for c in _unclaimed.get() if not c.claimed)
    fitting = (c for c in open_ if transport is None or c.target.transport is transport)
    return next(fitting, None)


def of_stream(stream: Any) -> Connection | None:
    """The connection whose client writes to ``stream``, where its transport was seen to open."""
    try:
        return streams.get(_innermost(stream))
    except TypeError:  # a stream of somebody's own making that cannot be a key
        return None


def written_to(stream: Any, connection: Connection) -> None:
    """The client of ``connection`` will write to ``stream``."""
    with suppress(TypeError):  # as above
        streams[_innermost(stream)] = connection


def _innermost(stream: Any) -> Any:
    # On 2.x a stream that carries the sender's context stands around the one that can be remembered.
    return getattr(stream, "_inner", stream)


def of_session(session: Any) -> Connection:
    """The connection of a client session; a new one for a session older than the instrumentation."""
    return of_dispatcher(dispatcher(session))


def dispatcher(session: Any) -> Any:
    """What sends the requests of ``session``: on 1.x the session itself."""
    return getattr(session, "_dispatcher", session)


def of_dispatcher(sender: Any) -> Connection:
    """The connection whose requests this dispatcher sends."""
    connection = dispatchers.get(sender)
    if connection is None:
        connection = dispatchers[sender] = Connection(ready=True)
    return connection
