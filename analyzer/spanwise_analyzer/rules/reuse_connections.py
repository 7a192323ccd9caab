"""Requests to one host opened new connections again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from spanwise import semconv
from spanwise_analyzer.replay import Change
from spanwise_analyzer.role import Role
from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Span

RULE = "reuse-connections"
Host: TypeAlias = tuple[str, str, int | None]  # client process, address, port
_NS = 1_000_000_000
_MS = 1_000_000


def find(view: View) -> Finding | None:
    """Exact by replay: the requests are shorter by the time of connecting."""
    again = [each for requests in _by_host(view).values() for each in _needless(requests)]
    if not again:
        return None
    evidence = [Evidence(node.key, ns, "opened another connection to the same host") for node, ns in again]
    shorter = Change(scale={node.key: 1 - min(1.0, ns / node.ns) for node, ns in again if node.ns})
    found = saving.exact(min(saving.replayed(view.ledger, shorter), sum(ns for _, ns in again)))
    return Finding(RULE, view.stage([node for node, _ in again]), SavingKind.EXACT, found, evidence)


def _by_host(view: View) -> dict[Host, list[Node]]:
    """Requests that tell of their connection, by process and host; those of setting up a session are its set-up."""
    found: dict[Host, list[Node]] = {}
    setting_up = saving.keys(node for run in view.set_ups for node in run.nodes)
    for node in view.nodes:
        host = _host(node.record)
        if host is not None and node.key not in setting_up and not _told_below(node):
            found.setdefault(host, []).append(node)
    return found


def _needless(requests: Sequence[Node]) -> list[tuple[Node, int]]:
    """Requests that opened a connection although one was idle, with the time that took; none if that was rare."""
    found = []
    busy_until = requests[0].end_ns
    for node in requests[1:]:
        if node.record.flag(semconv.CONNECTION_NEW) is True and node.start_ns >= busy_until:
            found.append((node, _connecting_ns(node.record)))
        busy_until = max(busy_until, node.end_ns)
    often = len(found) >= max(book.limit(RULE, "repeats"), book.limit(RULE, "share") * len(requests))
    return [(node, ns) for node, ns in found if often and ns >= book.limit(RULE, "connect_ms") * _MS]


def _host(span: Span) -> Host | None:
    address = span.text(semconv.SERVER_ADDRESS)
    known = span.flag(semconv.CONNECTION_NEW) is not None
    return (span.process, address, span.integer(semconv.SERVER_PORT)) if address and known else None


def _told_below(node: Node) -> bool:
    """Whether the HTTP request below tells the same connection again."""
    carriers = (inner for inner in node.walk() if inner is not node and inner.role is Role.HTTP_CLIENT)
    return any(carrier.record.flag(semconv.CONNECTION_NEW) is not None for carrier in carriers)


def _connecting_ns(span: Span) -> int:
    times = (span.number(semconv.CONNECTION_CONNECT_TIME), span.number(semconv.CONNECTION_TLS_TIME))
    return round(sum(seconds or 0.0 for seconds in times) * _NS)
