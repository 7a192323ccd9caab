from __future__ import annotations

import random

import pytest

from spanwise_demo.model.latency import Latency, pace
from spanwise_demo.model.prompt import Prompt

_STILL = Latency(jitter=0.0, scale=1.0)


def _chance() -> random.Random:
    return random.Random(1)  # noqa: S311 - reproducible jitter


def _first_ms(prompt: Prompt, *, cached: int = 0, priority: bool = False, latency: Latency = _STILL) -> float:
    chance = _chance()
    return pace(latency, prompt, cached=cached, priority=priority, chance=chance).first_ns / 1e6


def test_the_wait_for_the_first_token_is_the_sum_of_the_tables_costs() -> None:
    prompt = Prompt(b"x" * 4 * 1000, images=1, tiles=2, pdf_pages=3)
    expected = 340.0 + 1000 * 0.13 + 60.0 + 2 * 30.0 + 3 * 55.0
    assert expected == pytest.approx(_first_ms(prompt))


def test_a_cached_token_costs_less_than_an_uncached_one() -> None:
    prompt = Prompt(b"x" * 4 * 2048)
    assert pytest.approx(_first_ms(prompt) - _first_ms(prompt, cached=1920)) == (0.13 - 0.005) * 1920


def test_the_priority_tier_is_faster_by_its_factor() -> None:
    prompt = Prompt(b"x" * 400)
    assert 0.6 * _first_ms(prompt) == pytest.approx(_first_ms(prompt, priority=True))


def test_scale_and_factor_change_all_times_alike() -> None:
    """So that ratios between stages hold however long a run may take."""
    slower = Latency(jitter=0.0, scale=0.5, factor=1.3)
    now = pace(slower, Prompt(b""), cached=0, priority=False, chance=_chance())
    assert pytest.approx((now.first_ns / 1e6, now.token_ns / 1e6)) == (340.0 * 0.65, 7.0 * 0.65)


def test_the_same_chance_gives_the_same_jitter() -> None:
    rough = Latency(jitter=0.2)
    first, again = (_first_ms(Prompt(b"x"), latency=rough) for _ in range(2))
    assert first == again
    assert first != pytest.approx(_first_ms(Prompt(b"x"), latency=Latency(jitter=0.0)))


def test_tokens_after_the_first_come_at_an_even_pace() -> None:
    now = pace(_STILL, Prompt(b""), cached=0, priority=False, chance=_chance())
    assert [now.at(count) - now.at(1) for count in (1, 2, 10)] == [0, 7_000_000, 63_000_000]
