"""Step: a span without length that reports a model call is a remark on that call, not a call of its own.

Some instrumentations end their span at the first byte of a stream and write down afterwards what the stream held.
"""

from __future__ import annotations

from collections.abc import Iterable

from spanwise import semconv
from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.role import Role
from spanwise_analyzer.timeline.alike import CALLS
from spanwise_analyzer.timeline.echo import both
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node

_Calls = dict[object, list[Node]]


def gather(forest: Forest) -> None:
    """Put what such spans say onto the calls that they are about, one remark of a scope to each call."""
    models = [node for node in forest.blocking() if node.role in CALLS and node.role is not Role.MCP_CLIENT]
    remarks = [node for node in models if not node.ns and node.record.end_ns > 0 and node.record.scope]
    if not remarks:
        return
    calls = _by_name(node for node in models if node.ns)
    taken: set[tuple[Node, str]] = set()
    for remark in remarks:
        call = _call(remark, calls, taken)
        if call is not None:
            taken.add((call, remark.record.scope))
            call.span = both(call, remark)
            remark.parent, remark.background = call, True
            remark.flags.add(Oddity.REPORTED_TWICE)


def _call(remark: Node, calls: _Calls, taken: set[tuple[Node, str]]) -> Node | None:
    """The call with its id that ended nearest to it; else the last one of its own scope that has no id."""
    free = [
        [
            call
            for call in calls.get(name, ())
            if call.start_ns <= remark.start_ns and (call, remark.record.scope) not in taken
        ]
        for name in (_identity(remark), _place(remark))
    ]
    if free[0]:
        return min(free[0], key=lambda call: (abs(remark.start_ns - call.end_ns), call.key))
    return max(free[1], key=lambda call: (call.start_ns, call.key), default=None)


def _by_name(nodes: Iterable[Node]) -> _Calls:
    found: _Calls = {}
    for node in nodes:
        name = _identity(node) or _place(node)
        found.setdefault(name, []).append(node)
    return found


def _identity(node: Node) -> object:
    identity = node.record.text(semconv.GEN_AI_RESPONSE_ID)
    return (node.key[0], node.role, identity) if identity else None


def _place(node: Node) -> object:
    span = node.record
    return (node.parent, node.role, span.scope, span.text(semconv.GEN_AI_REQUEST_MODEL))
