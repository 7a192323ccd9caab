"""Runs one suite of cells in one environment, and counts."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element, parse

from tests.matrix.environment import ROOT, Environment
from tests.matrix.row import HERE

_PATIENCE = 900.0  # s
_SPANS = ".//property[@name='spans']"
_NO_CELLS = 5  # pytest's exit code


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a suite: numbers, and the words of everything that failed."""

    suite: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    spans: int = 0
    seconds: float = 0.0
    complaint: str = ""

    @property
    def good(self) -> bool:
        """Whether cells ran and all of them passed."""
        return self.passed > 0 and not self.failed and not self.complaint


def run(environment: Environment, suite: str) -> Result:
    """Run a suite to its end in a process of its own."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        try:
            ended = subprocess.run(
                _command(environment, suite, report),
                cwd=ROOT,
                env=_surroundings(),
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Result(suite, seconds=time.monotonic() - began, complaint=f"did not end within {_PATIENCE:.0f} s")
        took = time.monotonic() - began
        if report.exists() and ended.returncode != _NO_CELLS:
            found = counted(suite, parse(report).getroot(), took)  # noqa: S314 - pytest wrote it
            return found if found.failed or not ended.returncode else replace(found, complaint=_last_words(ended))
        words = "has no cells" if ended.returncode == _NO_CELLS else _last_words(ended)
        return Result(suite, seconds=took, complaint=words)


def _command(environment: Environment, suite: str, report: Path) -> list[str]:
    folder = str((HERE / suite).relative_to(ROOT))
    options = ["-c", "pyproject.toml", "--rootdir", ".", "-p", "no:cacheprovider", f"--confcutdir={folder}"]
    return [
        str(environment.python),
        "-m",
        "pytest",
        *options,
        "-p",
        "tests.matrix.census",
        f"--junitxml={report}",
        folder,
    ]


def _surroundings() -> dict[str, str]:
    """The environment without settings that would change what is traced, and without another Python's paths."""
    foreign = ("OTEL_", "SPANWISE_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**kept, "SPANWISE_RAISE": "1", "MATRIX_PYTHON": sys.executable}


def counted(suite: str, report: Element, took: float) -> Result:
    """The numbers of a JUnit report."""
    cells = list(report.iter("testcase"))
    failed = [cell for cell in cells if cell.find("failure") is not None or cell.find("error") is not None]
    skipped = [cell for cell in cells if cell.find("skipped") is not None]
    return Result(
        suite,
        passed=len(cells) - len(failed) - len(skipped),
        failed=len(failed),
        skipped=len(skipped),
        spans=sum(int(found.get("value", "0")) for found in report.iterfind(_SPANS)),
        seconds=took,
        complaint="\n\n".join(_words(cell) for cell in failed),
    )


def _last_words(ended: subprocess.CompletedProcess[str]) -> str:
    return f"{ended.stdout[-4000:]}{ended.stderr[-4000:]}".strip()


def _words(cell: Element) -> str:
    parts = [part for part in cell if part.tag in {"failure", "error", "system-out", "system-err"}]
    return "\n".join([f"{cell.get('classname')}::{cell.get('name')}", *(part.text or "" for part in parts)])
