"""Step: a call that several instrumentations report becomes one span, which knows what all of them know.

The outermost report stays, since it took the whole time; the others are set aside and what is below them moves up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from spanwise import semconv
from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.role import Role
from spanwise_analyzer.timeline.alike import CALLS, alike, pairs
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Attributes, Span, Status, Value

_KNOWN: Final = frozenset(value for value in vars(semconv).values() if isinstance(value, str))
# Seconds since the start of the span that says so.
_SINCE_START: Final = (semconv.RESPONSE_TIME_TO_FIRST_CONTENT, semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK)
_NS: Final = 1_000_000_000


def merge(forest: Forest) -> None:
    """Count each call once, however many instrumentations saw it."""
    if len({node.record.scope for node in forest.nodes.values() if node.role in CALLS}) < 2:  # noqa: PLR2004 - a pair
        return
    _nest(forest)
    _fold(forest)


def _nest(forest: Forest) -> None:
    """A report that was made a sibling of another goes below it."""
    for found in forest.children().values():
        for outer, inner in pairs(node for node in found if node.role in CALLS and not node.background):
            inner.parent = outer


def _fold(forest: Forest) -> None:
    """From below, so that three reports become one as well."""
    children = forest.children()
    order = list(forest.top_down())
    inner = _inner(order)
    told: set[str] = set()
    for node in reversed(order):
        found = inner.get(node, [])
        if len(found) == 1 and alike(node, found[0]):
            _absorb(node, found[0], children)
            _tell(forest, found[0], told)


def _inner(order: list[Node]) -> dict[Node, list[Node]]:
    """The calls right below each call, with nothing between them but spans that say nothing."""
    outer: dict[Node, Node] = {}
    found: dict[Node, list[Node]] = {}
    for node in order:
        parent = node.parent
        above = parent if parent is not None and parent.role in CALLS else outer.get(parent) if parent else None
        if above is None or node.background:
            continue
        if node.role is Role.UNKNOWN:
            outer[node] = above
        elif node.role is above.role:
            found.setdefault(above, []).append(node)
    return found


def _absorb(outer: Node, inner: Node, children: dict[Node, list[Node]]) -> None:
    above = inner.parent if inner.parent is not None else outer
    for child in children.pop(inner, ()):
        child.parent = above
        children.setdefault(above, []).append(child)
    outer.span = both(outer, inner)
    outer.end_ns = max(outer.end_ns, inner.end_ns)  # some end at the first byte of a stream
    inner.parent, inner.background = outer, True


def _tell(forest: Forest, node: Node, told: set[str]) -> None:
    """One problem per instrumentation: its spans may be many."""
    scope = node.record.scope
    if scope not in told:
        told.add(scope)
        forest.note(node, Oddity.REPORTED_TWICE, detail=f" ({scope})")
    node.flags.add(Oddity.REPORTED_TWICE)


def both(outer: Node, inner: Node) -> Span:
    """The outer span with what either knows; where they differ, the one that says more in the conventions' words."""
    one, other = outer.record, inner.record
    late = max(0, inner.start_ns - outer.start_ns)
    told, more = _named(one), {**_named(other), **_later(other, late)}
    richer = other if len(_canonical(more)) > len(_canonical(told)) else one
    return replace(
        one,
        name=richer.name,
        status=Status.ERROR if Status.ERROR in (one.status, other.status) else richer.status,
        status_message=richer.status_message or one.status_message or other.status_message,
        attributes={**told, **more} if richer is other else {**more, **told},
        events=(*one.events, *other.events),
        links=(*one.links, *other.links),
    )


def _named(span: Span) -> dict[str, Value]:
    return {name: value for name, value in span.attributes.items() if value is not None and value != ""}


def _later(span: Span, by_ns: int) -> dict[str, Value]:
    moments = {name: span.number(name) for name in _SINCE_START}
    return {name: seconds + by_ns / _NS for name, seconds in moments.items() if seconds is not None}


def _canonical(attributes: Attributes) -> list[str]:
    return [name for name in attributes if name in _KNOWN]
