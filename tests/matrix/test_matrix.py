"""The matrix itself: its rows, its counting and its table."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.matrix import __main__ as command
from tests.matrix import environment, row, suite, table
from tests.matrix.environment import Environment, NotBuilt
from tests.matrix.row import Row
from tests.matrix.suite import Result

REPORT = """<testsuites><testsuite>
  <testcase classname="cells" name="good"><properties><property name="spans" value="3"/></properties></testcase>
  <testcase classname="cells" name="bad"><failure message="no">1 == 2</failure><system-out>said</system-out></testcase>
  <testcase classname="cells" name="broken"><error message="no">no server</error></testcase>
  <testcase classname="cells" name="left out"><skipped/></testcase>
</testsuite></testsuites>"""


def test_every_row_pins_its_sdks_and_runs_suites_that_exist() -> None:
    rows = row.rows()
    assert len(rows) == len({found.name for found in rows})
    assert [] == [
        found.name for found in rows if {"mcp", "openai"} - {name.partition("[")[0] for name in _pinned(found)}
    ]
    assert [] == [name for found in rows for name in found.suites if not (row.HERE / name / "conftest.py").exists()]


def test_oldest_and_newest_of_both_sdks_are_in_the_pruned_set_and_a_neighbour() -> None:
    pruned = row.chosen(row.rows(), ci=True)
    assert {"mcp", "openai", "beside"} == {name for found in pruned for name in found.suites}
    assert 2 <= len(pruned) <= 3


def test_a_row_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == command.main(["--only", "mcp-1.9,mcp-0.1"])
    assert "no row is called mcp-0.1; there are mcp-1.9, " in capsys.readouterr().out


def test_an_environment_that_cannot_be_built_names_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "HOME", tmp_path)
    broken = Row("odd-row", "3.11", ("mcp === no version at all",), ("mcp",))
    with pytest.raises(NotBuilt, match=r"row odd-row \(mcp === no version at all\): uv pip failed"):
        environment.build(broken)


def test_failures_errors_and_skips_are_counted_and_failures_are_told() -> None:
    found = suite.counted("cells", fromstring(REPORT), 1.5)  # noqa: S314 - written here
    assert (1, 2, 1, 3) == (found.passed, found.failed, found.skipped, found.spans)
    assert not found.good
    assert "cells::bad\n1 == 2\nsaid\n\ncells::broken\nno server" == found.complaint


def test_a_suite_without_cells_is_not_good() -> None:
    assert not Result("mcp").good
    assert Result("mcp", passed=1).good


def test_the_table_ends_with_the_total() -> None:
    built = Environment(Row("r", "3.99", ("mcp==2.3.0",), ("mcp",)), Path("python"), "3.11.7", {"mcp": "2.3.0"})
    drawn = table.lines([(built, Result("mcp", passed=2, spans=5, seconds=1)), (built, Result("openai", failed=1))])
    assert ["r", "3.11.7", "(no", "3.99)", "mcp", "2.3.0", "mcp", "2", "0", "0", "5", "1.0"] == drawn[2].split()
    assert ["total", "2", "suites", "2", "1", "0", "5", "1.0"] == drawn[-1].split()


def _pinned(found: Row) -> list[str]:
    return [text.partition("==")[0] for text in found.requirements if "==" in text]
