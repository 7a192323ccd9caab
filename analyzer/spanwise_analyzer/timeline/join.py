"""Steps: an MCP server's span that lost its parent goes below the request that it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from spanwise import semconv
from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.role import Role
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Span

Ids = Iterable[tuple[str, ...]]


def by_session(forest: Forest) -> None:
    """Join over all traces by session, request id and method."""
    _join(forest, _session, lambda _client, _server: True)


def by_peer(forest: Forest) -> None:
    """Join what has no session (protocol 2026-07-28) by server, request id, method and tool.

    Request ids restart with each connection, so the client must also contain the server on one clock.
    """
    _join(forest, _peers, _holds)


def by_place(forest: Forest) -> None:
    """Join a server's part to the request beside it, where another instrumentation named itself as its parent."""
    for parent, found in forest.children().items():
        servers = [node for node in found if node.role is Role.MCP_SERVER]
        if servers and parent.role is not Role.MCP_CLIENT:
            _beside(servers, [node for node in found if node.role is Role.MCP_CLIENT])


def _beside(servers: list[Node], clients: list[Node]) -> None:
    """The last request that began before the server's part, is of its kind and ends after it."""
    free = list(clients)
    for server in servers:
        fitting = (client for client in reversed(free) if _asks(client, server) and _holds(client, server))
        client = next(fitting, None)
        if client is not None:
            free.remove(client)
            server.parent = client


def _asks(client: Node, server: Node) -> bool:
    names = (semconv.MCP_METHOD_NAME, semconv.GEN_AI_TOOL_NAME)
    return all(client.record.text(name) == server.record.text(name) for name in names)


def _holds(client: Node, server: Node) -> bool:
    return client.start_ns <= server.start_ns and server.end_ns <= client.end_ns


def _join(forest: Forest, ids: Callable[[Span], Ids], fits: Callable[[Node, Node], bool]) -> None:
    clients = _clients(forest, ids)
    for server in forest.nodes.values():
        if server.role is not Role.MCP_SERVER or not server.top:
            continue
        answered = {client for name in ids(server.record) for client in clients.get(name, ()) if fits(client, server)}
        if len(answered) == 1:
            server.parent = answered.pop()
            forest.note(server, Oddity.SERVER_JOINED)


def _clients(forest: Forest, ids: Callable[[Span], Ids]) -> dict[tuple[str, ...], list[Node]]:
    """MCP requests without a server part yet, by each id they go by."""
    answered = {node.parent for node in forest.nodes.values() if node.role is Role.MCP_SERVER}
    found: dict[tuple[str, ...], list[Node]] = {}
    for node in forest.nodes.values():
        if node.role is Role.MCP_CLIENT and node not in answered:
            for name in ids(node.record):
                found.setdefault(name, []).append(node)
    return found


def _session(span: Span) -> Ids:
    session = span.text(semconv.MCP_SESSION_ID)
    request = _request(span)
    return [(session, *request)] if session and request else []


def _peers(span: Span) -> Ids:
    request = _request(span)
    if request is None or span.text(semconv.MCP_SESSION_ID):
        return []
    tool = span.text(semconv.GEN_AI_TOOL_NAME) or ""
    server = span.text(semconv.SERVER_ADDRESS), span.text(semconv.MCP_SERVER_NAME)
    names = {name for name in (*server, span.service) if name}
    return [(name, *request, tool) for name in sorted(names)]


def _request(span: Span) -> tuple[str, str] | None:
    number, method = span.attributes.get(semconv.JSONRPC_REQUEST_ID), span.text(semconv.MCP_METHOD_NAME)
    return (str(number), method) if number is not None and method else None
