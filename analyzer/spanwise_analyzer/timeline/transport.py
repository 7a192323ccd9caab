"""Step: an MCP server's span goes below the HTTP request that carried it, where tracing made them siblings."""

from __future__ import annotations

from spanwise_analyzer.role import Role
from spanwise_analyzer.timeline.containers import shortest
from spanwise_analyzer.timeline.forest import Forest, below
from spanwise_analyzer.tree import Node

_HTTP = (Role.HTTP_CLIENT, Role.HTTP_SERVER)
_WAYS = (*_HTTP, Role.UNKNOWN)  # another instrumentation's spans may lie between a request and what carried it


def nest(forest: Forest) -> None:
    """Re-nest the server part of every MCP request; one that no carrier holds stays where it is."""
    ways = {node: found for node, found in forest.children().items() if node.role in (Role.MCP_CLIENT, *_WAYS)}
    for request, servers in _answers(forest).items():
        carriers = [node for node in below([request], ways) if node.role in _HTTP and not node.background]
        around = _around(servers, carriers)
        for server in servers:
            server.parent = _linked(server, carriers) or around.get(server, server.parent)


def _answers(forest: Forest) -> dict[Node, list[Node]]:
    """The server parts of each request, with nothing between but spans that say nothing."""
    requests: dict[Node, Node] = {}
    found: dict[Node, list[Node]] = {}
    for node in forest.top_down():
        parent = node.parent
        if parent is None or node.background:
            continue
        request = parent if parent.role is Role.MCP_CLIENT else requests.get(parent)
        if request is None:
            continue
        if node.role is Role.UNKNOWN:
            requests[node] = request
        elif node.role is Role.MCP_SERVER:
            found.setdefault(request, []).append(node)
    return found


def _linked(server: Node, carriers: list[Node]) -> Node | None:
    links = {(link.trace_id, link.span_id) for link in server.record.links}
    wanted = (node for node in carriers if links and node.role is Role.HTTP_SERVER and node.key in links)
    return next(wanted, None)


def _around(servers: list[Node], carriers: list[Node]) -> dict[Node, Node]:
    """The innermost carrier around each server part; carriers come parents first."""
    depth = {node: place for place, node in enumerate(carriers)}
    return shortest(carriers, servers, family=lambda node: node in depth, depth=depth.__getitem__, strict=False)
