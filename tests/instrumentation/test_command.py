"""The command: what it runs, what it says, and what it answers where something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from spanwise import run
from spanwise.command import main

AGENT = """
import sys
import openai._base_client as base
print("spanwise" in base.SyncAPIClient.request.__code__.co_filename, sys.argv[1:])
"""


def spanwise(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    command = [sys.executable, "-m", "spanwise.command", *arguments]
    return subprocess.run(command, env=kept | environ, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def agent(tmp_path: Path) -> str:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    return str(path)


def test_a_program_is_instrumented_without_being_touched(agent: str) -> None:
    done = spanwise("run", "--", sys.executable, agent, "--x", "1", OTEL_TRACES_EXPORTER="none")
    assert (done.returncode, done.stdout) == (0, "True ['--x', '1']\n")


def test_the_exit_code_is_the_programs_own() -> None:
    assert spanwise("run", sys.executable, "-c", "raise SystemExit(7)", OTEL_TRACES_EXPORTER="none").returncode == 7


def test_a_sitecustomize_of_the_environment_still_runs(agent: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('theirs')")
    done = spanwise("run", "--", sys.executable, agent, OTEL_TRACES_EXPORTER="none", PYTHONPATH=str(tmp_path))
    # Once in the process of the command itself, once in the program that it becomes.
    assert done.stdout == "theirs\ntheirs\nTrue []\n"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (None, []),
        ("", []),
        (f"a{os.pathsep}{run.AUTOSTART}{os.pathsep}b", ["a", "b"]),
        (f"{os.pathsep}a", ["", "a"]),  # an empty entry is the current directory
    ],
)
def test_options_become_variables_and_our_start_up_file_comes_first(path: str | None, expected: list[str]) -> None:
    given = {"HOME": "h"} | ({} if path is None else {"PYTHONPATH": path})
    assert run.environment(given, {"OTEL_SERVICE_NAME": "shop"}) == {
        "PYTHONPATH": os.pathsep.join([run.AUTOSTART, *expected]),
        "HOME": "h",
        "OTEL_SERVICE_NAME": "shop",
        "SPANWISE_RUN_PID": str(os.getpid()),
    }


def test_a_program_that_is_not_there_is_told_like_a_shell_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--", "no-such-program-here"]) == 127
    assert "no-such-program-here: not found" in capsys.readouterr().err


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    listing = capsys.readouterr().out
    assert left.value.code == 0
    assert [name for name in ("run", "doctor", "serve", "report", "top", "demo") if f"\n  {name} " not in listing] == []


def test_an_unknown_command_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serv"]) == 2
    assert "no command 'serv'" in capsys.readouterr().err


class Broken:
    """An entry point whose package is not installed."""

    name = "serve"

    def load(self) -> None:
        """Fail as the import would."""
        raise ModuleNotFoundError("No module named 'duckdb'")


def test_a_missing_extra_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.command.entry_points", lambda group: [Broken()] if group else [])
    assert main(["serve"]) == 2
    said = capsys.readouterr().err
    assert "pip install 'spanwise[server]'" in said
    assert "pip install -e '.[server]'" in said


class Listing:
    """An entry point of another package."""

    name = "other"
    given: Sequence[str] = ()

    def load(self) -> object:
        """A command that remembers what it was called with."""
        return self.run

    def run(self, arguments: Sequence[str]) -> None:
        """Take the arguments."""
        Listing.given = arguments


def test_commands_of_other_packages_get_their_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.command.entry_points", lambda group: [Listing()] if group else [])
    assert main(["other", "--json", "x"]) == 0
    assert list(Listing.given) == ["--json", "x"]


def test_the_doctor_describes_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--help"])
    assert left.value.code == 0
    assert "send one test span there and show it back" in " ".join(capsys.readouterr().out.split())
