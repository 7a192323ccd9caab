"""Recommendations over many conversations: how many a rule reaches, and what its change would save in all."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from spanwise_analyzer.rules import book, interval
from spanwise_analyzer.rules.finding import Saving, SavingKind

_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """One rule's finding in one conversation."""

    conversation_id: str
    rule: str
    kind: SavingKind
    saving: Saving | None


@dataclass(frozen=True, slots=True)
class FleetFinding:
    """One rule over ``of`` conversations; ns are None where the rule claims no latency.

    ``total`` is the time saved over all, ``p50_ns`` that of the middle triggered conversation. Both have an interval
    only from 20 triggered conversations on; ``observation`` marks fewer than 8.
    """

    rule: str
    kind: SavingKind
    conversations: int
    of: int
    reach: tuple[float, float]
    total: Saving | None
    p50_ns: int | None
    p50_interval_ns: tuple[int, int] | None
    total_interval_ns: tuple[int, int] | None
    observation: bool
    examples: Sequence[str]


def aggregate(claims: Iterable[Claim], *, of: int) -> list[FleetFinding]:
    """Every rule that was found among ``of`` conversations, by the time that its change would save.

    Savings are of one rule each: they overlap, so they must not be added between rules.
    """
    groups: dict[str, dict[str, Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.rule, {})[claim.conversation_id] = claim
    found = [_finding(rule, list(group.values()), of) for rule, group in groups.items()]
    return sorted(found, key=_rank)


def _finding(rule: str, claims: Sequence[Claim], of: int) -> FleetFinding:
    claims = sorted(claims, key=lambda claim: claim.conversation_id)
    savings = [claim.saving for claim in claims if claim.saving]
    expected = np.array([saving.expected_ns for saving in savings], dtype=np.float64)
    enough = len(savings) >= book.constant("common", "min_interval")
    return FleetFinding(
        rule=rule,
        kind=_kind(claims),
        conversations=len(claims),
        of=of,
        reach=interval.wilson(len(claims), of),
        total=_sum(savings) if savings else None,
        p50_ns=round(median(expected)) if savings else None,
        p50_interval_ns=_p50_interval(rule, expected) if enough else None,
        total_interval_ns=_total_interval(rule, expected, of) if enough else None,
        observation=len(claims) < book.constant("common", "min_observations"),
        examples=_nearest_to_median(claims),
    )


def _rank(found: FleetFinding) -> tuple[int, float, float, str]:
    priority = book.entry(found.rule).priority
    place = {"P1": 0, "P6": 2}.get(priority, 1)
    expected = found.total.expected_ns if found.total else 0
    own = 0 if found.kind is SavingKind.EXTERNAL else expected
    return place, -own, -expected, priority


def _kind(claims: Sequence[Claim]) -> SavingKind:
    """The least sure kind: a sum is no surer than its parts."""
    order = list(SavingKind)
    claimed = [claim.kind for claim in claims if claim.kind is not SavingKind.NONE]
    return max(claimed, key=order.index, default=SavingKind.NONE)


def _sum(savings: Sequence[Saving]) -> Saving:
    low, expected, high = (
        sum(values)
        for values in zip(*((saving.low_ns, saving.expected_ns, saving.high_ns) for saving in savings), strict=True)
    )
    return Saving(low, expected, high)


def _p50_interval(rule: str, expected: interval.Floats) -> tuple[int, int]:
    draws = interval.medians(expected, _resamples(), _rng(rule))
    low, high = interval.expanded(draws, len(expected))
    return round(low), round(high)


def _total_interval(rule: str, expected: interval.Floats, of: int) -> tuple[int, int]:
    draws = interval.totals(expected, max(of, len(expected)), _resamples(), _rng(rule))
    low, high = interval.expanded(draws, len(expected))
    return round(low), round(high)


def _resamples() -> int:
    return int(book.constant("common", "resamples"))


def _rng(rule: str) -> np.random.Generator:
    # Reading twice gives the same interval.
    return np.random.default_rng(zlib.crc32(rule.encode()))


def _nearest_to_median(claims: Sequence[Claim]) -> list[str]:
    """Ids of typical conversations rather than of the extremes."""
    values = [claim.saving.expected_ns if claim.saving else 0 for claim in claims]
    middle = median(values)
    ranked = sorted(zip(values, claims, strict=True), key=lambda pair: (abs(pair[0] - middle), pair[1].conversation_id))
    return [claim.conversation_id for _, claim in ranked[:_EXAMPLES]]
