"""Conversations from the agent to the server's answer: nothing is replaced, everything runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from spanwise_demo.endpoint import Local
from spanwise_demo.main import main
from spanwise_demo.matrix import Trial, draw, head, play, trials
from spanwise_demo.scenarios.plan import Plan
from spanwise_demo.scenarios.table import SCENARIOS, named
from spanwise_demo.weather import Weather

_SMOKE = ["healthy", "serial-tools", "session-per-task"]


def _demo(database: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "spanwise_demo.main", "--db", str(database), "--json", *arguments]
    env = {**os.environ, **(environment or {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env)
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, document


def test_the_demo_names_planted_causes_and_says_so_in_one_object(tmp_path: Path) -> None:
    database = tmp_path / "demo.duckdb"
    code, document = _demo(database, *(item for name in _SMOKE for item in ("--scenario", name)))
    rows = document["scenarios"]
    assert [row["scenario"] for row in rows] == _SMOKE
    assert [row["rule"] for row in rows] == [None, "overlap-tool-calls", "reuse-mcp-session"]
    assert (code, document["model"], all(row["as_planted"] for row in rows)) == (0, "local", True)
    assert database.exists()
    assert all(name not in row["conversation_id"] for row in rows for name in _SMOKE)


async def test_twins_are_silent_on_the_cause(tmp_path: Path) -> None:
    """Also where a conversation of another customer runs at the same time."""
    todo = [Trial(scenario, Weather(seed=5), twin=True) for scenario in named(_SMOKE[1:])]
    tried = await play(todo, tmp_path / "twins.duckdb", at_a_time=2, console=Console(quiet=True))
    assert [(each.trial.scenario.name, each.verdict.rules) for each in tried if not each.holds] == []


def test_usage_errors_say_what_is_wrong(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asked = (["--scenario", "no-such"], ["--base-url", "http://127.0.0.1:9/v1"], ["--base-url", "x", "--model", "m"])
    assert [main(arguments) for arguments in asked] == [2, 2, 2]
    said = capsys.readouterr().err.splitlines()
    assert ["no scenario 'no-such'" in said[0], "--model" in said[1], "OPENAI_API_KEY" in said[2]] == [True] * 3


def test_the_same_agent_runs_against_another_endpoint_and_the_output_says_which(tmp_path: Path) -> None:
    with closing(Local()) as endpoint:
        base_url = str(endpoint.model_for(Plan(), Weather()).client.base_url)
        code, document = _demo(
            tmp_path / "demo.duckdb",
            *("--scenario", "sequential-pages", "--base-url", base_url, "--model", "some-model"),
            environment={"OPENAI_API_KEY": "key"},
        )
    assert (code, document["model"]) == (0, base_url)
    assert document["scenarios"][0]["rule"] == "parallelise-page-requests"


def test_an_endpoint_that_does_not_answer_is_said_to_be_that(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    assert main(["--scenario", "healthy", "--base-url", "http://127.0.0.1:9/v1", "--model", "m"]) == 1
    assert "http://127.0.0.1:9/v1 does not answer" in capsys.readouterr().err


@pytest.mark.soak
async def test_every_scenario_holds_in_every_weather(tmp_path: Path) -> None:
    """Three seeds of the commit, half and double strength, latencies of 70 and 130 %, one harmless server more."""
    console = Console()
    tried = await play(trials(SCENARIOS, head()), tmp_path / "matrix.duckdb", at_a_time=4, console=console)
    draw(console, tried)
    assert [(each.trial.scenario.name, each.trial.label, each.verdict.rules) for each in tried if not each.holds] == []
