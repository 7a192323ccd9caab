"""Whether two spans are reports of one call by two instrumentations, and which of many belong together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator

from spanwise import semconv
from spanwise_analyzer.role import Role
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Span

CALLS = frozenset({Role.INFERENCE, Role.EMBEDDING, Role.MCP_CLIENT})
_IDS = {
    **dict.fromkeys((Role.INFERENCE, Role.EMBEDDING), semconv.GEN_AI_RESPONSE_ID),
    Role.MCP_CLIENT: semconv.JSONRPC_REQUEST_ID,
}
_NAMES = {
    **dict.fromkeys((Role.INFERENCE, Role.EMBEDDING), (semconv.GEN_AI_REQUEST_MODEL,)),
    Role.MCP_CLIENT: (semconv.MCP_METHOD_NAME, semconv.GEN_AI_TOOL_NAME),
}


def alike(one: Node, other: Node) -> bool:
    """Whether nothing says that they are different calls.

    One instrumentation never reports a call twice at one level: its spans are calls of their own.
    """
    first, second = one.record, other.record
    named = zip(_names(one), _names(other), strict=False)
    return (
        one.role is other.role
        and _apart(first, second)
        and all(left is None or right is None or left == right for left, right in (_ids(one, other), *named))
    )


def pairs(siblings: Iterable[Node]) -> Iterator[tuple[Node, Node]]:
    """Outer and inner reports of the same calls among spans of one parent; each outer one has one inner one at most.

    An inner report goes with the outer one of its id, else with the one that began last before it.
    """
    opened: dict[Hashable, dict[str, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for node in sorted(siblings, key=lambda node: (node.start_ns, -node.end_ns, node.key)):
        outer = next(filter(None, (_around(node, opened[key]) for key in _keys(node))), None)
        if outer is not None:
            for key in _keys(outer):
                opened[key][outer.record.scope].remove(outer)
            yield outer, node
        for key in _keys(node):
            opened[key][node.record.scope].append(node)


def _around(node: Node, opened: dict[str, list[Node]]) -> Node | None:
    found: Node | None = None
    for outers in opened.values():
        while outers and outers[-1].end_ns < node.start_ns:
            outers.pop()
        last = next((outer for outer in reversed(outers) if outer.end_ns >= node.end_ns and alike(outer, node)), None)
        if last is not None and (found is None or last.start_ns >= found.start_ns):
            found = last
    return found


def _keys(node: Node) -> list[Hashable]:
    """What a report may be found by, the surest first."""
    return [(node.role, *_names(node), identity) for identity in dict.fromkeys((_id(node), None))]


def _ids(one: Node, other: Node) -> tuple[str | None, str | None]:
    return _id(one), _id(other)


def _id(node: Node) -> str | None:
    value = node.record.attributes.get(_IDS[node.role])
    return None if value is None or value == "" else str(value)


def _names(node: Node) -> list[str | None]:
    return [node.record.text(name) for name in _NAMES[node.role]]


def _apart(one: Span, other: Span) -> bool:
    """Two instrumentations of one process."""
    if not one.scope or not other.scope or one.scope == other.scope:
        return False
    return one.process == other.process or not one.process or not other.process
