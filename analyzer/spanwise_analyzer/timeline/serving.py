"""Step: what two instrumentations of a server say of one request goes one below the other, where they are siblings."""

from __future__ import annotations

from bisect import bisect_left

from spanwise_analyzer.role import Role, declared
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node


def nest(forest: Forest) -> None:
    """Nest an MCP server's part and a span of its process that says nothing, if they share parent and time."""
    for parent, found in forest.children().items():
        servers = [node for node in found if node.role is Role.MCP_SERVER and not node.background]
        others = [node for node in found if _says_nothing(node)] if servers else []
        for server in servers:
            _order(server, others, parent)


def _order(server: Node, others: list[Node], parent: Node) -> None:
    """What begins while the server works goes below it; what began just before and holds it goes above."""
    first = bisect_left(others, server.start_ns, key=_start)
    for other in others[first : bisect_left(others, max(server.end_ns, server.start_ns + 1), key=_start)]:
        if other.parent is parent and other.record.process == server.record.process:
            other.parent = server
    around = others[first - 1] if first else None
    if around is not None and around.parent is parent and around.record.process == server.record.process:
        server.parent = around if server.end_ns <= around.end_ns else parent


def _start(node: Node) -> int:
    return node.start_ns


def _says_nothing(node: Node) -> bool:
    return node.role is Role.UNKNOWN and not node.background and declared(node.record) is None
