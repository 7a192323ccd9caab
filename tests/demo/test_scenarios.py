from __future__ import annotations

import random
from dataclasses import asdict, replace

import pytest

from spanwise_demo.agent.case import numbers
from spanwise_demo.matrix import Trial, seeds, trials
from spanwise_demo.scenarios.plan import Scenario
from spanwise_demo.scenarios.table import SCENARIOS, named
from spanwise_demo.verdict import verdict
from spanwise_demo.weather import Weather

_PLANTED = {
    "healthy": None,
    "session-per-task": "reuse-mcp-session",
    "cold-server": "prewarm-server",
    "relist-every-turn": "honour-list-ttl",
    "legacy-probe": "pin-protocol-version",
    "big-catalogue": "narrow-tool-catalogue",
    "verbose-definitions": "slim-tool-definitions",
    "fat-result": "slim-results",
    "image-result": "slim-results",
    "serial-tools": "overlap-tool-calls",
    "extra-rounds": "merge-model-rounds",
    "long-output": "trim-output",
    "prefix-breaker": "stabilise-prompt-prefix",
    "rate-limited": "reduce-retries",
    "slow-tool": "slow-tool-work",
    "flaky-tool": "reduce-retries",
    "high-detail-image": "lower-image-detail",
    "pdf-instead-of-text": "send-extracted-text",
    "sequential-pages": "parallelise-page-requests",
    "tier-mismatch": "service-tier",
    "repeated-query": "cache-tool-results",
    "silent-gap": "instrument-the-gap",
}


def test_every_scenario_plants_the_cause_that_was_asked_for() -> None:
    assert {scenario.name: scenario.planted for scenario in SCENARIOS} == _PLANTED


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each.planted], ids=lambda each: each.name)
def test_a_twin_differs_from_its_scenario_by_the_cause(scenario: Scenario) -> None:
    """Something differs, and what the customer asks for does not."""
    assert scenario.plan() != scenario.twin
    assert scenario.plan().turns == scenario.twin.turns


def test_only_causes_of_a_kind_rather_than_a_size_ignore_the_strength() -> None:
    alike = {each.name for each in SCENARIOS if each.plan(0.5) == each.plan(2.0)}
    assert alike == {"healthy", "tier-mismatch"}


def test_scenarios_are_found_by_name() -> None:
    assert [each.name for each in named(["slow-tool", "healthy"])] == ["slow-tool", "healthy"]
    assert named([]) == list(SCENARIOS)
    with pytest.raises(ValueError, match="no scenario 'fast'"):
        named(["fast"])


def test_the_numbers_of_a_case_follow_from_the_seed() -> None:
    first, again, other = (numbers(random.Random(seed)) for seed in (1, 1, 2))  # noqa: S311 - made-up numbers
    assert first == again != other


def test_three_seeds_come_from_the_commit() -> None:
    commit = "0000000a0000000b0000000c" + "f" * 16
    assert seeds(commit) == [10, 11, 12]


def test_the_matrix_has_every_scenario_in_every_weather_and_its_twin_where_strength_is_plain() -> None:
    found = trials(named(["slow-tool"]), "0" * 40)
    assert len([each for each in found if not each.twin]) == 3 * 6
    assert len([each for each in found if each.twin]) == 3 * 4
    assert {each.weather.strength for each in found if each.twin} == {1.0}


def _answer(*rules: str) -> dict[str, object]:
    return {
        "conversation_id": "c-1",
        "active_ms": 1500.0,
        "dominant": {"stage": "mcp.server", "share": 0.5},
        "recommendations": [
            {"rule": rule, "title": rule, "kind": "exact", "saving_ms": {"low": 1.0, "expected": 2.0, "high": 3.0}}
            for rule in rules
        ],
    }


def test_a_verdict_compares_the_first_recommendation_with_the_planted_cause() -> None:
    scenario = named(["slow-tool"])[0]
    found = [verdict(scenario, _answer(*rules)) for rules in (["slow-tool-work"], ["x", "slow-tool-work"], [])]
    assert [each.as_planted for each in found] == [True, False, False]
    assert found[0].document() == {
        "scenario": "slow-tool",
        "conversation_id": "c-1",
        "active_ms": 1500.0,
        "dominant": "mcp.server",
        "share": 0.5,
        "rule": "slow-tool-work",
        "saving_ms": {"low": 1.0, "expected": 2.0, "high": 3.0},
        "planted": "slow-tool-work",
        "as_planted": True,
    }


def test_a_trial_holds_when_the_cause_is_first_and_the_twin_silent_on_it() -> None:
    scenario, healthy = named(["slow-tool", "healthy"])
    trial, twin = (Trial(scenario, Weather(), twin=twin) for twin in (False, True))
    assert [trial.holds(verdict(scenario, _answer(*rules))) for rules in (["slow-tool-work", "x"], ["x"])] == [
        True,
        False,
    ]
    assert [twin.holds(verdict(scenario, _answer(*rules))) for rules in (["x"], ["x", "slow-tool-work"])] == [
        True,
        False,
    ]
    sound = Trial(healthy, Weather(), twin=False)
    assert [sound.holds(verdict(healthy, _answer(*rules))) for rules in ([], ["x"])] == [True, False]


def test_what_the_servers_are_told_does_not_name_the_scenario() -> None:
    for scenario in SCENARIOS:
        plan = replace(scenario.plan(), turns=())
        told = str([asdict(plan.orders), asdict(plan.logistics), plan.tools])
        assert scenario.name not in told
        assert scenario.name.replace("-", "_") not in told
