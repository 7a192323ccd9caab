"""``make matrix``: every cell for real, one environment per SDK version and per neighbour, and a table of what came."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.matrix import environment, row, suite, table
from tests.matrix.environment import Environment, NotBuilt
from tests.matrix.row import Row
from tests.matrix.suite import Result

_AT_ONCE = 2
Done = list[tuple[Environment, Result]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; 0 where every suite has cells and all passed, 1 else, 2 for a row that does not exist."""
    options = _options(arguments)
    try:
        wanted = row.chosen(row.rows(), [name for name in options.only.split(",") if name], ci=options.ci)
    except row.Unknown as error:
        _say(str(error))
        return 2
    began = time.monotonic()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        outcomes = list(pool.map(_attempt, wanted))
    return _tell(outcomes, time.monotonic() - began)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make matrix ARGS=…", description=__doc__)
    parser.add_argument("--only", default="", metavar="ROW,…", help="rows by name")
    parser.add_argument("--ci", action="store_true", help="the pruned set that runs on every change")
    return parser.parse_args(arguments)


def _attempt(wanted: Row) -> Done | NotBuilt:
    try:
        built = environment.build(wanted)
    except NotBuilt as error:
        return error
    done = []
    for name in wanted.suites:
        result = suite.run(built, name)
        _say(f"{wanted.name} {name}: {result.passed} passed, {result.failed} failed in {result.seconds:.1f} s")
        done.append((built, result))
    return done


def _tell(outcomes: Sequence[Done | NotBuilt], seconds: float) -> int:
    done = [pair for outcome in outcomes if not isinstance(outcome, NotBuilt) for pair in outcome]
    missing = [outcome for outcome in outcomes if isinstance(outcome, NotBuilt)]
    bad = [(built, result) for built, result in done if not result.good]
    for built, result in bad:
        _say(f"\n==== {built.row.name} {result.suite}\n{result.complaint}")
    _say("", *table.lines(done), f"{seconds:.0f} s on the clock, installing included")
    for error in missing:
        _say(f"\nnot run: {error}")
    return 1 if bad or missing else 0


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
