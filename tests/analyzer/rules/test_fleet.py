"""Recommendations over many conversations, and the statistics under them."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from tests.analyzer.rules.cases import function, model, turn

from spanwise import semconv
from spanwise_analyzer.account import account
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.rules import interval
from spanwise_analyzer.rules.facts.norms import Norms
from spanwise_analyzer.rules.finding import Saving, SavingKind
from spanwise_analyzer.rules.fleet import Claim, aggregate
from spanwise_analyzer.rules.learning import learn
from spanwise_analyzer.rules.slope import Row, fit, lad


def claims(rule: str, savings: list[int], kind: SavingKind = SavingKind.EXACT) -> list[Claim]:
    return [Claim(f"c{n:03}", rule, kind, Saving(value, value, value)) for n, value in enumerate(savings)]


def test_rules_rank_by_the_time_they_save_in_all() -> None:
    rows = aggregate([*claims("trim-output", [100] * 30), *claims("slim-results", [1000] * 4)], of=50)
    assert [(row.rule, row.conversations, row.of) for row in rows] == [("slim-results", 4, 50), ("trim-output", 30, 50)]
    assert [row.total and row.total.expected_ns for row in rows] == [4000, 3000]


def test_intervals_need_twenty_conversations_and_estimates_eight() -> None:
    few, some, many = (aggregate(claims("trim-output", list(range(100, 100 + n))), of=100)[0] for n in (7, 19, 20))
    assert [row.observation for row in (few, some, many)] == [True, False, False]
    assert [row.p50_interval_ns is None for row in (few, some, many)] == [True, True, False]
    assert many.p50_interval_ns is not None
    assert many.p50_interval_ns[0] <= (many.p50_ns or 0) <= many.p50_interval_ns[1]


def test_a_rule_without_a_claim_still_has_its_reach() -> None:
    row = aggregate([Claim("c", "tool-search", SavingKind.NONE, None)], of=10)[0]
    assert (row.total, row.p50_ns, row.kind) == (None, None, SavingKind.NONE)
    assert row.reach == pytest.approx((0.0179, 0.4042), abs=1e-4)


def test_reading_twice_gives_the_same_intervals() -> None:
    rows = claims("trim-output", [50 + 7 * n for n in range(25)])
    assert aggregate(rows, of=40) == aggregate(list(reversed(rows)), of=40)


def test_a_sum_is_no_surer_than_its_parts() -> None:
    mixed = [*claims("trim-output", [1]), Claim("x", "trim-output", SavingKind.EXTERNAL, Saving(0, 1, 2))]
    assert aggregate(mixed, of=2)[0].kind is SavingKind.EXTERNAL


def test_wilson_at_its_ends() -> None:
    assert interval.wilson(0, 0) == (0.0, 1.0)
    assert interval.wilson(0, 20)[0] == 0.0
    assert interval.wilson(20, 20)[1] == 1.0


@pytest.mark.parametrize(("n", "level"), [(20, 0.01588), (30, 0.01875), (60, 0.02180), (200, 0.02403)])
def test_the_expanded_level_is_that_of_the_t_distribution(n: int, level: float) -> None:
    assert interval.expanded_level(n) == pytest.approx(level, abs=1e-5)


@pytest.mark.parametrize("n", [20, 25])
def test_drawn_medians_are_those_of_resamples(n: int) -> None:
    rng = np.random.default_rng(7)
    values = rng.normal(size=n)
    drawn = interval.medians(values, 40_000, rng)
    resampled = np.median(rng.choice(values, (40_000, n)), axis=1)
    for level in (0.1, 0.5, 0.9):
        assert np.quantile(drawn, level) == pytest.approx(np.quantile(resampled, level), abs=0.06)


def test_a_fleet_teaches_prices_and_usual_times() -> None:
    def conversation(number: int) -> Ledger:
        size = 500 + 400 * (number % 10)
        said = {semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 100 * (number % 7)}
        took = 100 + 0.05 * (size - 100 * (number % 7)) + 0.005 * 100 * (number % 7)
        call = model("m", 100, 1100 + took, said, tokens=(size, 40), first=took)
        return account(f"c{number}", [turn(2000), function("f", 0, 50 + number % 4), call])

    norms = learn(conversation(number) for number in range(100))
    assert norms.tool_p99_ns == {(None, "f"): 53_000_000}
    (slope,) = norms.slopes.values()
    assert slope.uncached.expected == pytest.approx(50_000, rel=0.01)
    assert slope.cached.expected == pytest.approx(5_000, rel=0.05)
    assert learn(conversation(number) for number in range(9)) == Norms()


def rows(conversations: int, *, spread: int = 4000) -> list[Row]:
    """Calls at 50 µs per uncached and 5 µs per cached token, with noise and 8 % spikes."""
    rng = np.random.default_rng(3)
    found = []
    for number in range(conversations * 4):
        uncached, cached = int(rng.integers(200, 200 + spread)), int(rng.integers(0, 5000))
        noise = NormalDist(0, 5e6).inv_cdf(rng.uniform(0.001, 0.999)) + (4e8 if rng.uniform() < 0.08 else 0)
        ns = round(2e8 + 50_000 * uncached + 5_000 * cached + noise)
        found.append(Row(f"c{number % conversations}", ns, uncached, cached))
    return found


def test_prices_are_found_through_spikes() -> None:
    slope = fit(rows(25))
    assert slope is not None
    assert slope.uncached.low < 50_000 < slope.uncached.high
    assert slope.uncached.expected == pytest.approx(50_000, rel=0.05)
    assert slope.cached.expected == pytest.approx(5_000, abs=1_500)
    assert slope.uncached.supported


def test_too_few_or_too_even_calls_have_no_price() -> None:
    assert fit(rows(5)) is None
    assert fit(rows(9)) is None
    assert fit(rows(25, spread=300)) is None


def test_tokens_that_come_with_the_output_have_no_price() -> None:
    tied = [Row(row.conversation, row.ns, row.uncached, row.cached, output=row.uncached // 10) for row in rows(25)]
    assert fit(tied) is None


def test_least_absolute_deviations_ignore_one_outlier() -> None:
    x = np.column_stack([np.ones(9), np.arange(9.0)])
    y = 3 + 2 * np.arange(9.0)
    y[4] = 1000
    assert lad(x, y) == pytest.approx([3, 2], abs=1e-3)
