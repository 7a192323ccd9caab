"""Step: the HTTP request of a call goes below what it was sent in, where tracing made them siblings.

An attempt at a call is written down at its end; another instrumentation's wrapper may not be the current span.
"""

from __future__ import annotations

from bisect import bisect_right

from spanwise_analyzer.role import Role
from spanwise_analyzer.timeline.alike import CALLS
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node

_DEPTH = 20  # wrappers around a request are few
_HOLDERS = (Role.ATTEMPT, Role.UNKNOWN)


def nest(forest: Forest) -> None:
    """Put each HTTP request below the innermost span of its call that it began in; they are one and the same time."""
    children = forest.children()
    for call in [node for node in forest.blocking() if node.role in CALLS]:
        for request in [node for node in children.get(call, ()) if node.role is Role.HTTP_CLIENT]:
            if not request.background:
                request.parent = _innermost(call, request.start_ns, children)


def _innermost(call: Node, at_ns: int, children: dict[Node, list[Node]]) -> Node:
    """One step down at a time; siblings are by start, and the last that began is the one that sent the request."""
    found = call
    for _ in range(_DEPTH):
        holders = [node for node in children.get(found, ()) if node.role in _HOLDERS and not node.background]
        place = bisect_right(holders, at_ns, key=lambda node: node.start_ns)
        if not place or at_ns >= holders[place - 1].end_ns:
            break
        found = holders[place - 1]
    return found
