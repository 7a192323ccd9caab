"""A list was asked for again within one session and came back unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.rules import saving
from spanwise_analyzer.rules.facts.failure import failed
from spanwise_analyzer.rules.facts.setup import client_spans, method, session
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Span

RULE = "honour-list-ttl"
_MS = 1_000_000


def find(view: View) -> Finding | None:
    """Exact by replay: the repeats are taken out."""
    repeats = list(_repeats(view.ledger, view))
    if not repeats:
        return None
    evidence = [Evidence(node.key, view.owned([node]), f"{method(node)} again, unchanged") for node in repeats]
    found = saving.exact(saving.without(view.ledger, repeats))
    return Finding(RULE, Stage.MCP_LIST, SavingKind.EXACT, found, evidence)


def _repeats(ledger: Ledger, view: View) -> Iterator[Node]:
    asked: dict[object, list[Node]] = {}
    for node in client_spans(view.nodes):
        if node.span and _answered_by_server(node.span):
            page = (session(node), method(node), node.span.text(semconv.MCP_CURSOR))
            asked.setdefault(page, []).append(node)
    changes = _changes(ledger)
    for nodes in asked.values():
        yield from (later for earlier, later in pairwise(nodes) if _needless(earlier, later, changes))


def _answered_by_server(span: Span) -> bool:
    # Only requests that are surely of one session count: another session has to list for itself.
    grouped = span.text(semconv.MCP_CONNECTION_ID) or span.text(semconv.MCP_SESSION_ID)
    lists = span.text(semconv.MCP_METHOD_NAME) in semconv.MCP_LIST_METHODS
    return bool(grouped and lists) and not failed(span) and span.flag(semconv.MCP_CACHE_HIT) is not True


def _needless(earlier: Node, later: Node, changes: Sequence[tuple[object, int]]) -> bool:
    if earlier.span is None or later.span is None or not _same(earlier.span, later.span):
        return False
    announced = any(source == session(later) and earlier.end_ns <= at <= later.start_ns for source, at in changes)
    return not announced and not _expired(earlier, later)


def _same(earlier: Span, later: Span) -> bool:
    names = (semconv.HASH_KEY_ID, semconv.TOOLS_NAMES_HASH, semconv.TOOLS_ORDER_HASH)
    known = earlier.text(semconv.TOOLS_NAMES_HASH) is not None
    return known and all(earlier.text(name) == later.text(name) for name in names)


def _expired(earlier: Node, later: Node) -> bool:
    # A ttl of zero, or none, allows asking at any time; then the unchanged answer is the fact that counts.
    ttl_ms = earlier.span.number(semconv.MCP_TTL_MS) if earlier.span else None
    return bool(ttl_ms) and later.start_ns - earlier.end_ns >= (ttl_ms or 0) * _MS


def _changes(ledger: Ledger) -> list[tuple[object, int]]:
    told = [node for node in ledger.tree.background if method(node) == semconv.MCP_LIST_CHANGED]
    return [(session(node), node.start_ns) for node in told]
