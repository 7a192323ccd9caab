"""Savings: by replay on the conversation's own tree, by prices of its own calls, or by effects measured elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.replay import Change, saving_ns
from spanwise_analyzer.rules import book
from spanwise_analyzer.rules.finding import Saving
from spanwise_analyzer.tree import Node
from spanwise_collector.span import SpanKey

_MS = 1_000_000


def exact(ns: int) -> Saving:
    """A saving that is known to the nanosecond."""
    return Saving(ns, ns, ns)


def ranged(low: float, expected: float, high: float) -> Saving:
    """A saving with a range; put in order, and nothing below zero."""
    middle = max(0, round(expected))
    return Saving(min(max(0, round(low)), middle), middle, max(round(high), middle))


def external(effect: str, affected_ns: int) -> Saving:
    """What the effect would be on this time: from zero, because it was measured elsewhere."""
    found = book.effect(effect)
    return ranged(0, -found.change * affected_ns, -found.low * affected_ns)


def removed(nodes: Iterable[Node]) -> Change:
    """The change that takes these subtrees out."""
    return Change(remove=keys(nodes))


def keys(nodes: Iterable[Node]) -> frozenset[SpanKey]:
    """Keys of these subtrees."""
    return frozenset(below.key for node in nodes for below in node.walk())


def replayed(ledger: Ledger, change: Change) -> int:
    """What the change saves, in ns, never more than the active time."""
    return max(0, min(saving_ns(ledger.tree, change), ledger.active_ns))


def without(ledger: Ledger, nodes: Sequence[Node]) -> int:
    """What taking these subtrees out saves, in ns."""
    return replayed(ledger, removed(nodes)) if nodes else 0


def significant(ledger: Ledger, saving: Saving) -> bool:
    """Whether the upper bound stands out of the noise."""
    return saving.high_ns >= noise_ns(ledger)


def noise_ns(ledger: Ledger) -> int:
    """Time below which nothing is recommended, in ns."""
    floor = book.constant("common", "min_saving_ms") * _MS
    return round(max(floor, book.constant("common", "min_saving_share") * ledger.active_ns))


def at_least(ledger: Ledger, ns: int, *, ms: float, share: float) -> bool:
    """Whether ``ns`` reaches both an absolute length and a share of the active time."""
    return ns >= max(ms * _MS, share * ledger.active_ns)


def total(parts: Sequence[Saving]) -> Saving:
    """The sum over different calls of one rule; savings of different rules must not be added."""
    return Saving(
        sum(part.low_ns for part in parts),
        sum(part.expected_ns for part in parts),
        sum(part.high_ns for part in parts),
    )
