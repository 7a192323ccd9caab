"""Numbers as people read them."""

from __future__ import annotations

import pytest

from spanwise_analyzer.figures import bar, count, duration, percent, spread


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (None, "-"),
        (0.0, "0 ms"),
        (0.42, "0.42 ms"),
        (41.64, "41.6 ms"),
        (999.4, "999 ms"),
        (1000.0, "1.00 s"),
        (59_000.0, "59.0 s"),
        (125_000.0, "2 min 05 s"),
        (119_999.0, "2 min 00 s"),
        (3_660_000.0, "1 h 01 min"),
    ],
)
def test_a_duration_has_about_three_digits_in_the_unit_that_fits(ms: float | None, expected: str) -> None:
    assert duration(ms) == expected


def test_a_bar_shows_any_share_and_is_never_longer_than_its_width() -> None:
    assert [bar(share, width=4) for share in (0.0, 0.0001, 0.5, 1.0, 7.0)] == ["", "▏", "██", "████", "████"]


def test_unknown_is_a_dash_and_not_zero() -> None:
    assert (percent(None), count(None), percent(0.0), count(0)) == ("-", "-", "0.0 %", "0")


def test_thousands_stand_apart() -> None:
    assert count(1_234_567) == "1\N{THIN SPACE}234\N{THIN SPACE}567"


def test_an_interval_whose_ends_read_the_same_is_none() -> None:
    assert spread({"low": 1620.0, "expected": 1620.0, "high": 1621.0}) == ""
    assert spread({"low": 900.0, "expected": 1620.0, "high": 2000.0}) == "900 ms to 2.00 s"
