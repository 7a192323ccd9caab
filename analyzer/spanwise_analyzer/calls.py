"""Model calls, each counted once however many instrumentations saw it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from spanwise import semconv
from spanwise_analyzer.lineage import nearest
from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.role import Role
from spanwise_analyzer.tree import Node, Tree
from spanwise_collector.span import Span

Reporter: TypeAlias = tuple[str, str]  # scope, process

# Behind these a model call is work of its own, not a second report of the one above.
BOUNDARIES = frozenset(Role) - {
    Role.INFERENCE,
    Role.ATTEMPT,
    Role.HTTP_CLIENT,
    Role.HTTP_SERVER,
    Role.RPC,
    Role.UNKNOWN,
}


class ModelCalls:
    """The inference spans of a tree, grouped where one reports another."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        outer = nearest(tree, lambda node: node.role is Role.INFERENCE, stop=BOUNDARIES)
        self.outermost: list[Node] = []  # blocking ones, by start
        self._nested: dict[Node, list[Node]] = {}
        for node in tree.blocking():
            if node.role is Role.INFERENCE:
                group = self._nested.setdefault(outer[node], []) if node in outer else self.outermost
                group.append(node)
        self._splits: dict[Node, int | None] = {}

    def counted(self) -> list[Node]:
        """One span per call, by start: the outermost that reports usage; background calls are counted too.

        Two spans with one response id are one call if one is below the other, or if they overlap and come from two
        instrumentations: some servers give all their responses the same id.
        """
        found = [node for node in self._tree.background if node.role is Role.INFERENCE and not _told(node)]
        stack = list(self.outermost)
        while stack:
            node = stack.pop()
            nested = self._nested.get(node, ())
            if nested and not usage_reported(node):
                stack.extend(nested)
            else:
                found.append(node)
        return _once(self._tree, sorted(found, key=lambda node: (node.start_ns, node.end_ns, node.key)))

    def first_content_ns(self, node: Node) -> int | None:
        """When the first content of a streamed call came; None where nobody measured it.

        What a call does not say itself may be said by the one call nested in it.
        """
        path = [node]
        while path[-1] not in self._splits:
            own = _first_content_ns(path[-1])
            nested = self._nested.get(path[-1], ())
            if own is not None or len(nested) != 1:
                self._splits[path[-1]] = own
            else:
                path.append(nested[0])
        for outer in path:
            self._splits[outer] = self._splits[path[-1]]
        return self._splits[node]


def usage_reported(node: Node) -> bool:
    """Whether the span says how many tokens went in or came out."""
    span = node.span
    names = (semconv.GEN_AI_USAGE_INPUT_TOKENS, semconv.GEN_AI_USAGE_OUTPUT_TOKENS)
    return span is not None and any(span.integer(name) is not None for name in names)


def chunk_is_not_content(span: Span) -> bool:
    """Whether the only first event known of a stream is the Responses API's, which carries no content."""
    return (
        span.number(semconv.RESPONSE_TIME_TO_FIRST_CONTENT) is None
        and span.number(semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK) is not None
        and span.text(semconv.OPENAI_API_TYPE) == semconv.API_RESPONSES
    )


def _first_content_ns(node: Node) -> int | None:
    span = node.span
    # Some instrumentations put the whole duration of an unstreamed call where the first chunk belongs.
    if span is None or span.flag(semconv.GEN_AI_REQUEST_STREAM) is False or chunk_is_not_content(span):
        return None
    names = (semconv.RESPONSE_TIME_TO_FIRST_CONTENT, semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK)
    seconds = next((value for value in map(span.number, names) if value is not None), None)
    if seconds is None:
        return None
    within = min(max(0.0, seconds), node.ns / 1e9)  # before rounding: a huge float has no whole number
    return min(node.start_ns + round(within * 1e9), node.end_ns)


def _told(node: Node) -> bool:
    return Oddity.REPORTED_TWICE in node.flags


def _once(tree: Tree, calls: Iterable[Node]) -> list[Node]:
    """The calls, by start, without those that report an earlier one again."""
    responses: dict[str, _Response] = {}
    found = []
    for call in calls:
        response = call.record.text(semconv.GEN_AI_RESPONSE_ID)
        if not response or responses.setdefault(response, _Response()).new(tree, call):
            found.append(call)
    return found


@dataclass(slots=True)
class _Response:
    """The calls with one response id, and who reported those that still run: each reports a call once at most."""

    all: set[Node] = field(default_factory=set)
    running: dict[Node, set[Reporter]] = field(default_factory=dict)

    def new(self, tree: Tree, call: Node) -> bool:
        """Whether it is a further call; calls come by start."""
        if self.all and any(above in self.all for above in _above(tree, call)):
            return False
        self.running = {
            node: told
            for node, told in self.running.items()
            if call.start_ns < node.end_ns or call.start_ns == node.start_ns
        }
        reporter = _reporter(call)
        for told in reversed(self.running.values()):
            if not reporter[0] or reporter not in told:
                told.add(reporter)
                return False
        self.all.add(call)
        self.running[call] = {reporter}
        return True


def _reporter(call: Node) -> Reporter:
    return call.record.scope, call.record.process


def _above(tree: Tree, node: Node) -> Iterator[Node]:
    """All spans that it names as above it, even those that it does not touch."""
    seen = {node}
    at = tree.nodes.get((node.record.trace_id, node.record.parent_id))
    while at is not None and at not in seen:
        yield at
        seen.add(at)
        at = tree.nodes.get((at.record.trace_id, at.record.parent_id))
