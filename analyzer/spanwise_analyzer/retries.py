"""Attempts that failed and were made again, and the pauses between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator
from typing import TypeAlias

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.claims import Claim
from spanwise_analyzer.classify import method
from spanwise_analyzer.role import Role
from spanwise_analyzer.tree import Node, Tree
from spanwise_collector.span import Span, Status

Attempts: TypeAlias = dict[tuple[Node, Hashable], list[Node]]

_CLIENT_ERROR = 400


def claims(tree: Tree) -> Iterator[Claim]:
    """What failed attempts own, with all below them, is wasted; their parent's own time until the next one is backoff.

    A call that fails and is repeated with other arguments is the model's repair, not a retry: equal arguments or one
    call id are asked for.
    """
    wasted: set[Node] = set()
    for (parent, _), group in _attempts(tree).items():
        for attempt, again_ns in _repeated(group):
            wasted.add(attempt)
            if attempt.end_ns < again_ns:
                yield Claim(attempt.end_ns, again_ns, parent, Stage.RETRY_BACKOFF)
    yield from _wasted(tree, wasted)


def caller(node: Node) -> Node | None:
    """Who decided to make the call: the tool span that only wraps an MCP request did not."""
    parent = node.parent
    if node.role is Role.MCP_CLIENT and parent is not None and parent.role is Role.TOOL:
        return parent.parent
    return parent


def failed(span: Span) -> bool:
    """Whether the span says that it ended in an error."""
    status = span.integer(semconv.HTTP_RESPONSE_STATUS_CODE)
    return (
        span.status is Status.ERROR
        or span.text(semconv.ERROR_TYPE) is not None
        or (status is not None and status >= _CLIENT_ERROR)
    )


def target(span: Span) -> tuple[str | None, str | None]:
    """The tool that is called and the server that has it."""
    server = span.text(semconv.MCP_SERVER_NAME) or span.text(semconv.SERVER_ADDRESS)
    return span.text(semconv.GEN_AI_TOOL_NAME), server


def _attempts(tree: Tree) -> Attempts:
    """Spans that could be attempts at one thing, by start."""
    found: Attempts = {}
    for node in tree.blocking():
        parent = caller(node)
        if parent is not None and node.span is not None:
            for name in _names(node, node.span):
                found.setdefault((parent, (node.role, *name)), []).append(node)
    return found


def _names(node: Node, span: Span) -> Iterable[tuple[Hashable, ...]]:
    """What a span is an attempt at; equal hashes mean something only under one key."""
    key = span.text(semconv.HASH_KEY_ID)
    match node.role:
        case Role.INFERENCE:
            wanted = span.text(semconv.REQUEST_HASH)
            return [(span.text(semconv.GEN_AI_REQUEST_MODEL), key, wanted)] if wanted else []
        case Role.TOOL | Role.MCP_CLIENT if method(node) in (None, semconv.MCP_TOOLS_CALL):
            ids = (span.text(semconv.TOOL_ARGS_HASH), span.text(semconv.GEN_AI_TOOL_CALL_ID))
            return [(*target(span), key, place, name) for place, name in enumerate(ids) if name]
        case Role.ATTEMPT:
            return [()]
        case Role.HTTP_CLIENT if _resent(node, span):
            return [(span.text(semconv.HTTP_REQUEST_METHOD), span.text(semconv.SERVER_ADDRESS))]
        case _:
            return []


def _resent(node: Node, span: Span) -> bool:
    """A model SDK sends one request per call, so a second one is a retry; elsewhere the client has to say so."""
    below_call = node.parent is not None and node.parent.role is Role.INFERENCE
    return below_call or failed(span) or bool(span.integer(semconv.HTTP_REQUEST_RESEND_COUNT))


def _repeated(group: list[Node]) -> Iterator[tuple[Node, int]]:
    """Failed attempts with the start of the next one."""
    for node in group:
        at = bisect_left(group, node.end_ns, key=lambda other: other.start_ns)
        again = next((other for other in group[at : at + 2] if other is not node), None)
        if again is not None and _made_again(node, again):
            yield node, again.start_ns


def _made_again(node: Node, again: Node) -> bool:
    if node.role is Role.ATTEMPT:
        return True
    said = again.parent is None or again.parent.role is Role.INFERENCE or node.role is not Role.HTTP_CLIENT
    return failed(node.record) and (said or bool(again.record.integer(semconv.HTTP_REQUEST_RESEND_COUNT)))


def _wasted(tree: Tree, roots: set[Node]) -> Iterator[Claim]:
    wasted: set[Node] = set()
    for node in tree.root.walk() if roots else ():
        if node in roots or node.parent in wasted:
            wasted.add(node)
            yield Claim(node.start_ns, node.end_ns, node, Stage.RETRY_WASTED)
