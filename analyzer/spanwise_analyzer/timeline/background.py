"""Step: set aside what nobody waits for."""

from __future__ import annotations

from spanwise import semconv
from spanwise_analyzer.role import Role
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Kind, Span

_REQUESTS = (Role.MCP_CLIENT, Role.MCP_CONNECT)


def part(forest: Forest) -> None:
    """Mark background spans with all below them."""
    requests: dict[Node, Node] = {}  # the MCP client span that a span works for
    for node in forest.top_down():
        parent = node.parent
        if parent is None or parent.span is None:
            node.background |= unawaited(node.record, None)
            continue
        if parent.role in _REQUESTS:
            requests[node] = parent
        elif parent in requests and parent.role is not Role.MCP_SERVER:
            requests[node] = requests[parent]
        node.background |= parent.background or unawaited(node.record, parent) or _listens(node, requests.get(node))


def unawaited(span: Span, parent: Node | None) -> bool:
    """Whether the span itself says that its parent does not wait for it."""
    method = span.text(semconv.MCP_METHOD_NAME) or ""
    if method in semconv.MCP_BACKGROUND_METHODS or method.startswith(semconv.MCP_NOTIFICATION_PREFIX):
        return True
    sender = parent.span if parent is not None else None
    sent = sender is not None and sender.kind is Kind.PRODUCER and span.kind is Kind.CONSUMER
    return sent or span.flag(semconv.ASYNC) is True


def _listens(node: Node, request: Node | None) -> bool:
    """Whether it is the GET that keeps a server's messages flowing: it outlives the MCP request it was opened in."""
    if request is None or node.role is not Role.HTTP_CLIENT or node.end_ns <= request.end_ns:
        return False
    return node.record.text(semconv.HTTP_REQUEST_METHOD) == semconv.HTTP_GET
