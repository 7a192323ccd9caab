"""Points in time as people write them."""

from __future__ import annotations

import pytest

from spanwise_analyzer.moment import parse, rfc3339

NOW = 1_700_000_000_000_000_000
GIGA = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023-11-14T22:13:20Z", NOW),
        ("2023-11-14T22:13:20.000000001Z", NOW + 1),
        ("2023-11-15T03:43:20.5+05:30", NOW + GIGA // 2),
        ("1970-01-01T00:00:00z", 0),
        ("-90s", NOW - 90 * GIGA),
        ("-1h", NOW - 3600 * GIGA),
        ("-2w", NOW - 14 * 86400 * GIGA),
        ("-999999999w", 0),
    ],
)
def test_a_moment_is_exact_to_the_ns(text: str, expected: int) -> None:
    assert parse(text, now_ns=NOW) == expected


@pytest.mark.parametrize(
    "text",
    ["", "now", "1h", "-1y", "2023-11-14", "2023-11-14T22:13:20", "2023-02-30T00:00:00Z", "1969-12-31T23:59:59Z"],
)
def test_what_is_no_moment_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match=repr(text) if text else "''"):
        parse(text, now_ns=NOW)


@pytest.mark.parametrize("ns", [0, 1, NOW, NOW + 123_456_789, 2**63 - 1])
def test_writing_and_reading_gives_the_same_ns(ns: int) -> None:
    assert parse(rfc3339(ns), now_ns=0) == ns
