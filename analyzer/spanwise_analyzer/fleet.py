"""Recommendations over many conversations: which rules hold where, and what their changes would save there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from spanwise_analyzer.rules import book
from spanwise_analyzer.rules.finding import Saving, SavingKind
from spanwise_analyzer.rules.fleet import Claim, FleetFinding, aggregate
from spanwise_analyzer.shapes import NS_PER_MS, FleetRow, IntervalRow, Recommendations, SavingRow, ms
from spanwise_collector.store import StoredLedger


def fleet(answers: Iterable[StoredLedger]) -> Recommendations:
    """Rules ranked by time saved, P6 last; savings of different rules overlap and are never added."""
    documents = [json.loads(stored.answer) for stored in answers]
    claims = [claim for said in documents for claim in _claims(said)]
    return Recommendations(len(documents), [_row(found) for found in aggregate(claims, of=len(documents))])


def _claims(said: dict[str, Any]) -> Iterator[Claim]:
    for advice in said["recommendations"]:
        yield Claim(said["conversation_id"], advice["rule"], SavingKind(advice["kind"]), _saving(advice["saving_ms"]))


def _saving(row: dict[str, float] | None) -> Saving | None:
    if row is None:
        return None
    return Saving(*(round(row[name] * NS_PER_MS) for name in ("low", "expected", "high")))


def _row(found: FleetFinding) -> FleetRow:
    words = book.entry(found.rule)
    low, high = found.reach
    return FleetRow(
        rule=found.rule,
        title=words.title,
        advice=words.advice,
        priority=words.priority,
        kind=found.kind,
        conversations=found.conversations,
        of=found.of,
        reach=IntervalRow(low, high),
        observation=found.observation,
        saving_ms=_total(found.total) if found.total else None,
        saving_interval_ms=_interval(found.total_interval_ns),
        p50_ms=None if found.p50_ns is None else ms(found.p50_ns),
        p50_interval_ms=_interval(found.p50_interval_ns),
        examples=found.examples,
        must_still_hold=words.must_still_hold,
        source=words.source,
    )


def _total(saving: Saving) -> SavingRow:
    return SavingRow(ms(saving.low_ns), ms(saving.expected_ns), ms(saving.high_ns))


def _interval(ns: tuple[int, int] | None) -> IntervalRow | None:
    return IntervalRow(ms(ns[0]), ms(ns[1])) if ns else None
