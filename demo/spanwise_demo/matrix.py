"""Plays every scenario and its twin under different seeds, strengths, latencies and company, and counts what holds."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from spanwise_demo.endpoint import endpoint
from spanwise_demo.ingest import Ingest
from spanwise_demo.scenarios.plan import Plan, Scenario
from spanwise_demo.scenarios.table import named
from spanwise_demo.venue import Venue, venue
from spanwise_demo.verdict import Verdict, verdict
from spanwise_demo.weather import Weather

_SEEDS = 3
_DIGITS = 8
_USAGE = 2


@dataclass(frozen=True, slots=True)
class Trial:
    """A scenario, or its twin, in one weather."""

    scenario: Scenario
    weather: Weather
    twin: bool

    @property
    def plan(self) -> Plan:
        """What is played."""
        return self.scenario.twin if self.twin else self.scenario.plan(self.weather.strength)

    @property
    def label(self) -> str:
        """The weather in words."""
        weather = self.weather
        stock = " one server more" if weather.extra_server else ""
        return f"seed {weather.seed} strength {weather.strength:g} latency {weather.latency:g}{stock}"

    def holds(self, found: Verdict) -> bool:
        """The cause is named first; in the twin its rule is silent, and without a cause every rule is."""
        if self.scenario.planted is None:
            return not found.rules
        return self.scenario.planted not in found.rules if self.twin else found.as_planted


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial with what the server said."""

    trial: Trial
    verdict: Verdict

    @property
    def holds(self) -> bool:
        """Whether it came out as it must."""
        return self.trial.holds(self.verdict)


def seeds(commit: str) -> list[int]:
    """Three seeds from a commit hash."""
    return [int(commit[start : start + _DIGITS], 16) for start in range(0, _SEEDS * _DIGITS, _DIGITS)]


def head() -> str:
    """The commit that is checked out; zeros where there is none."""
    asked = ["git", "rev-parse", "--verify", "HEAD"]
    found = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)  # noqa: S603
    return found.stdout.strip() if found.returncode == 0 else "0" * 40


def trials(scenarios: Sequence[Scenario], commit: str) -> list[Trial]:
    """Every scenario and twin in every weather; a twin has no cause to be stronger or weaker."""
    found = []
    for seed in seeds(commit):
        for weather in _weathers(seed):
            found += [Trial(scenario, weather, twin=False) for scenario in scenarios]
            if weather.strength == 1.0:
                found += [Trial(scenario, weather, twin=True) for scenario in scenarios if scenario.planted]
    return found


def _weathers(seed: int) -> Iterator[Weather]:
    plain = Weather(seed=seed)
    yield plain
    yield from (replace(plain, strength=strength) for strength in (0.5, 2.0))
    yield from (replace(plain, latency=latency) for latency in (0.7, 1.3))
    yield replace(plain, extra_server=True)


async def play(todo: Sequence[Trial], database: Path, *, at_a_time: int, console: Console) -> list[Tried]:
    """Plays the trials, some at a time, and asks the server about each once everything was sent."""
    with closing(endpoint(None, None)) as chosen, Ingest(database) as ingest:
        async with venue(chosen, ingest.otlp, todo[0].weather) as here:
            ids = await _played(here, todo, at_a_time=at_a_time, console=console)
        answers = [ingest.conversation(each) for each in ids]
    said = zip(todo, answers, strict=True)
    return [Tried(trial, verdict(trial.scenario, answer)) for trial, answer in said]


async def _played(here: Venue, todo: Sequence[Trial], *, at_a_time: int, console: Console) -> list[str]:
    limit = asyncio.Semaphore(at_a_time)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=len(todo))

        async def one(trial: Trial) -> str:
            async with limit:
                played = await here.play(trial.plan, trial.weather)
            bar.advance(task)
            return played

        return await asyncio.gather(*(one(trial) for trial in todo))


def draw(console: Console, tried: Sequence[Tried]) -> None:
    """One row per scenario, then every trial that did not hold."""
    table = Table("scenario", "cause named first", "silent in the twin", title="Scenarios in all weathers")
    for name in dict.fromkeys(each.trial.scenario.name for each in tried):
        rows = [each for each in tried if each.trial.scenario.name == name]
        table.add_row(name, *(_count([each for each in rows if each.trial.twin is twin]) for twin in (False, True)))
    console.print(table)
    for each in tried:
        if not each.holds:
            twin = " (twin)" if each.trial.twin else ""
            said = ", ".join(each.verdict.rules) or "none"
            console.print(
                f"{each.trial.scenario.name}{twin}, {each.trial.label}: {said}  {each.verdict.conversation_id}"
            )


def _count(rows: Sequence[Tried]) -> str:
    return f"{sum(each.holds for each in rows)} of {len(rows)}" if rows else "-"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when everything holds, 1 when something does not, 2 for a usage error."""
    parser = ArgumentParser("python -m spanwise_demo.matrix", description=__doc__)
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", help="only this one")
    parser.add_argument("--commit", default=None, help="hash that gives the seeds (default: the one checked out)")
    parser.add_argument("--at-a-time", type=int, default=4, help="conversations at a time (default 4)")
    options = parser.parse_args(arguments)
    console = Console()
    database = Path(tempfile.mkdtemp(prefix="spanwise-matrix-")) / "matrix.duckdb"
    try:
        todo = trials(named(options.scenario), options.commit or head())
    except ValueError as error:
        console.print(str(error))
        return _USAGE
    tried = asyncio.run(play(todo, database, at_a_time=options.at_a_time, console=console))
    draw(console, tried)
    console.print(f"{_count(tried)} hold. Database: {database}", soft_wrap=True)
    return 0 if all(each.holds for each in tried) else 1


if __name__ == "__main__":
    sys.exit(main())
