"""``spanwise demo``: plays conversations of a real agent and prints what Spanwise says of each."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from openai import OpenAIError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from spanwise_demo.board import Show
from spanwise_demo.endpoint import Endpoint, endpoint
from spanwise_demo.ingest import Ingest
from spanwise_demo.scenarios.plan import Scenario
from spanwise_demo.scenarios.table import SCENARIOS, named
from spanwise_demo.venue import venue
from spanwise_demo.verdict import verdict
from spanwise_demo.weather import Weather

_USAGE = 2
_WIDTH = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every scenario is as planted, 1 when one is not, 2 for a usage error."""
    options = _parser().parse_args(arguments)
    database = options.db or Path(tempfile.mkdtemp(prefix="spanwise-demo-")) / "demo.duckdb"
    try:
        return asyncio.run(_play(options, named(options.scenario), database))
    except ValueError as error:
        sys.stderr.write(f"spanwise demo: {error}\n")
        return _USAGE
    except OpenAIError as error:
        sys.stderr.write(f"spanwise demo: {options.base_url or 'the local model'} does not answer: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> ArgumentParser:
    parser = ArgumentParser("spanwise demo", description="Play conversations of a support agent and explain each.")
    names = ", ".join(scenario.name for scenario in SCENARIOS)
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", help=f"only this one of {names}")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    parser.add_argument("--keep-serving", action="store_true", help="keep server and page up until Ctrl-C")
    parser.add_argument("--base-url", metavar="URL", help="a real endpoint instead of the local model")
    parser.add_argument("--model", metavar="NAME", help="the model there; its key comes from OPENAI_API_KEY")
    parser.add_argument("--seed", type=int, default=1, help="of numbers and jitter (default 1)")
    parser.add_argument("--db", type=Path, metavar="FILE", help="database file (default: a new temporary one)")
    return parser


async def _play(options: Namespace, scenarios: Sequence[Scenario], database: Path) -> int:
    console = _console(to_stderr=options.json)
    with closing(endpoint(options.base_url, options.model)) as chosen, Ingest(database) as ingest:
        ids = await _played(chosen, ingest, scenarios, seed=options.seed, console=console)
        verdicts = [verdict(*each) for each in zip(scenarios, map(ingest.conversation, ids), strict=True)]
        page = ingest.page if options.keep_serving else None
        _print(console, Show(verdicts, chosen.label, database, page), as_json=options.json)
        if page:
            with suppress(asyncio.CancelledError):  # Ctrl-C
                await asyncio.to_thread(ingest.wait)
    return 0 if all(row.as_planted for row in verdicts) else 1


async def _played(
    chosen: Endpoint, ingest: Ingest, scenarios: Sequence[Scenario], *, seed: int, console: Console
) -> list[str]:
    """Plays them one after another; the conversations' ids."""
    weather = Weather(seed=seed)
    with _progress(console) as bar:
        task = bar.add_task("", total=len(scenarios))
        async with venue(chosen, ingest.otlp, weather) as here:
            found = []
            for scenario in scenarios:
                bar.update(task, description=scenario.name)
                found.append(await here.play(scenario.plan(), weather))
                bar.advance(task)
        return found


def _console(*, to_stderr: bool) -> Console:
    """As wide as the terminal; a file or a pipe has no width, so the table gets what it needs."""
    found = Console(stderr=to_stderr)
    return found if found.is_terminal else Console(stderr=to_stderr, width=_WIDTH, height=found.height)


def _progress(console: Console) -> Progress:
    columns = (BarColumn(), TextColumn("{task.completed}/{task.total} {task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def _print(console: Console, show: Show, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(show.document()) + "\n")
        sys.stdout.flush()
    else:
        show.draw(console)


if __name__ == "__main__":
    sys.exit(main())
