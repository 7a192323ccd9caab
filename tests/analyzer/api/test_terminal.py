"""What the terminal shows fits it: no identifier and no number is cut, and nothing is said twice."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console

from spanwise_analyzer import report, top

IDENTIFIER = "0123456789abcdef0123456789abcdef"
POLE = {"stage": "model.first_token", "group": "model", "ms": 1234.0, "share": 0.617}
ROW = {
    "conversation_id": IDENTIFIER,
    "service": "support-agent-of-the-shop",
    "turns": 12,
    "active_ms": 12_345.0,
    "dominant": POLE,
    "recommendation": "define-correct-first",
    "saving_ms": {"low": 1620.0, "expected": 1620.0, "high": 1621.0},
}


def drawn(width: int, *rows: Mapping[str, Any]) -> list[str]:
    out = io.StringIO()
    top.show(rows, Console(file=out, width=width, height=25, force_terminal=True, color_system=None))
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [20, 80, 81, 90, 100, 120, 150, 200])
def test_ids_stages_and_numbers_are_whole_at_any_width(width: int) -> None:
    line = next(line for line in drawn(width, ROW) if IDENTIFIER in line)
    assert [word for word in (IDENTIFIER, "12.3 s", "model.first_token", "1.62 s") if word not in line] == []


def test_eighty_columns_are_enough_for_a_trace_id() -> None:
    lines = drawn(80, ROW)
    assert max(map(len, lines)) <= 80
    assert "".join(line[61:69].strip() for line in lines[2:]) == "define-correct-first"


@pytest.mark.parametrize(
    ("width", "absent"),
    [
        (200, []),
        (135, ["█"]),
        (118, ["█", "service"]),
        (100, ["█", "service", "turns"]),
        (80, ["█", "service", "turns", "share"]),
    ],
)
def test_a_narrow_terminal_goes_without_the_bar_then_the_service_then_the_turns(width: int, absent: list[str]) -> None:
    text = "\n".join(drawn(width, ROW))
    assert absent == [name for name in ("█", "service", "turns", "share") if name not in text]


def test_equal_problems_are_one_line_with_their_number() -> None:
    problems = [{"code": "clock-shifted", "text": "moved"}] * 12 + [{"code": "orphan-adopted", "text": "adopted"}]
    lines = list(report._problems(problems))
    assert lines == ["[dim]odd: clock-shifted  12 spans: moved[/]", "[dim]odd: orphan-adopted  adopted[/]"]
