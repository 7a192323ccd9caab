"""What the SDK did itself within a model call: before it sent the request, and once the answer was here."""

from __future__ import annotations

from collections.abc import Iterator

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.claims import Claim
from spanwise_analyzer.role import Role
from spanwise_analyzer.tree import Node, Tree
from spanwise_collector.span import Span


def claims(tree: Tree) -> Iterator[Claim]:
    """The agent's own time in its model calls: in the first one of a process, most of what looks like the model's."""
    for node in tree.blocking():
        if node.role is not Role.INFERENCE or node.span is None:
            continue
        prepared = _ns(node.span, semconv.CLIENT_PREPARE_TIME)
        if prepared:
            yield Claim(node.start_ns, min(node.end_ns, node.start_ns + prepared), node, Stage.AGENT_OVERHEAD)
        parsed = _ns(node.span, semconv.CLIENT_PARSE_TIME)
        if parsed:
            had = _had_ns(node, node.span)
            yield Claim(max(node.start_ns, had - parsed), had, node, Stage.AGENT_OVERHEAD)


def _had_ns(node: Node, span: Span) -> int:
    """When the program had the answer, or the first event of a streamed one."""
    first = _ns(span, semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK)
    return min(node.end_ns, node.start_ns + first) if first else node.end_ns


def _ns(span: Span, name: str) -> int:
    seconds = span.number(name)
    # Longer than any call is as good as endless: what is too large to be a whole number must not be made one.
    return 0 if seconds is None or not seconds > 0 else round(min(seconds, _LONGEST_S) * 1e9)


_LONGEST_S = 1e6
