"""Set-ups of MCP sessions: one maximal run of connecting, handshake and lists to one server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from spanwise import semconv
from spanwise_analyzer.role import Role
from spanwise_analyzer.rules.facts.failure import failed
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Span

ServerId: TypeAlias = tuple[str, str | None, int | None, str, str | None]


@dataclass(frozen=True, slots=True)
class SetUp:
    """One set-up: its blocking spans in time order, the close of its session if seen, and the server it leads to.

    ``server`` is name, address, port, client process and tenant: equal ones could have shared a session.
    """

    server: ServerId
    nodes: Sequence[Node]
    close: Node | None

    @property
    def name(self) -> str:
        """The server's name."""
        return self.server[0]

    @property
    def start_ns(self) -> int:
        """Start of the first span."""
        return self.nodes[0].start_ns

    @property
    def end_ns(self) -> int:
        """End of the last span."""
        return max(node.end_ns for node in self.nodes)

    @property
    def probes(self) -> list[Node]:
        """Requests for discovery that failed and were followed by the old handshake."""
        asked = [node for node in self.nodes if method(node) == semconv.MCP_DISCOVER]
        greeted = [node.start_ns for node in self.nodes if method(node) == semconv.MCP_INITIALIZE]
        return [node for node in asked if failed(node.record) and any(start >= node.start_ns for start in greeted)]


def method(node: Node) -> str | None:
    """The MCP method of a span."""
    return node.record.text(semconv.MCP_METHOD_NAME)


def client_spans(nodes: Iterable[Node]) -> list[Node]:
    """Spans of the client's side of MCP: connecting, requests, closing."""
    sides = {Role.MCP_CONNECT, Role.MCP_CLOSE, Role.MCP_CLIENT}
    return [node for node in nodes if node.role in sides]


def set_ups(nodes: Iterable[Node]) -> list[SetUp]:
    """All set-ups among these nodes (in time order), by start."""
    sessions: dict[object, list[Node]] = {}
    for node in client_spans(nodes):
        sessions.setdefault(session(node), []).append(node)
    runs = [run for members in sessions.values() for run in _runs(members)]
    return sorted((_set_up(run) for run in runs), key=lambda found: (found.start_ns, found.nodes[0].key))


def session(node: Node) -> object:
    """What groups the requests of one client session: its id, else the server and process."""
    span = node.record
    own = span.text(semconv.MCP_CONNECTION_ID) or span.text(semconv.MCP_SESSION_ID)
    return own or (_name(span), span.process)


def _runs(members: Sequence[Node]) -> list[list[Node]]:
    """Cut one session's spans at each connect or handshake that comes after a good handshake, or other requests."""
    runs: list[list[Node]] = []
    done = True
    for node in members:
        if done and _begins(node):
            runs.append([])
        if runs:
            runs[-1].append(node)
            done = _settles(node) or not _prepares(node) or (done and not _begins(node))
    return runs


def _settles(node: Node) -> bool:
    return method(node) in semconv.MCP_HANDSHAKE_METHODS and not failed(node.record)


def _begins(node: Node) -> bool:
    return node.role is Role.MCP_CONNECT or method(node) in semconv.MCP_HANDSHAKE_METHODS


def _prepares(node: Node) -> bool:
    return _begins(node) or method(node) in semconv.MCP_LIST_METHODS


def _set_up(run: Sequence[Node]) -> SetUp:
    nodes = [node for node, before in zip(run, _before(run), strict=True) if before]
    closes = [node for node in run if node.role is Role.MCP_CLOSE]
    return SetUp(_server([node.record for node in run]), nodes, closes[0] if closes else None)


def _before(run: Sequence[Node]) -> list[bool]:
    preparing, found = True, []
    for node in run:
        preparing = preparing and _prepares(node)
        found.append(preparing)
    return found


def _server(spans: Sequence[Span]) -> ServerId:
    greeted = [span for span in spans if span.text(semconv.MCP_METHOD_NAME) in semconv.MCP_HANDSHAKE_METHODS]
    address = next((host for span in spans if (host := span.text(semconv.SERVER_ADDRESS))), None)
    names = (span.text(semconv.MCP_SERVER_NAME) for span in [*greeted, *spans])
    name = next((name for name in names if name), address or "")
    port = next((port for span in spans if (port := span.integer(semconv.SERVER_PORT)) is not None), None)
    tenant = next((tenant for span in spans if (tenant := span.text(semconv.TENANT))), None)
    return name, address, port, spans[0].process, tenant


def _name(span: Span) -> str | None:
    return span.text(semconv.MCP_SERVER_NAME) or span.text(semconv.SERVER_ADDRESS)
