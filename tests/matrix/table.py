"""The matrix as people read it: a line for each suite in each environment, and a total."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.matrix.environment import Environment
from tests.matrix.suite import Result

_HEAD = ("environment", "Python", "SDKs", "suite", "passed", "failed", "skipped", "spans", "seconds")
_TEXTS = 4  # columns of words; the others are numbers


def lines(results: Iterable[tuple[Environment, Result]]) -> list[str]:
    """The table, its total last."""
    found = list(results)
    table = [_HEAD, *(_line(*row) for row in found), _total([result for _, result in found])]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    drawn = ["  ".join(_cells(row, widths)).rstrip() for row in table]
    rule = "-" * max(map(len, drawn))
    return [drawn[0], rule, *drawn[1:-1], rule, drawn[-1]]


def _line(environment: Environment, result: Result) -> Sequence[str]:
    words = (environment.row.name, environment.described, environment.sdks, result.suite)
    return (*words, *_numbers(result))


def _numbers(result: Result) -> Sequence[str]:
    counts = (result.passed, result.failed, result.skipped, result.spans)
    return (*map(str, counts), f"{result.seconds:.1f}")


def _total(results: Sequence[Result]) -> Sequence[str]:
    whole = Result(
        "",
        passed=sum(result.passed for result in results),
        failed=sum(result.failed for result in results),
        skipped=sum(result.skipped for result in results),
        spans=sum(result.spans for result in results),
        seconds=sum(result.seconds for result in results),
    )
    return ("total", "", "", f"{len(results)} suites", *_numbers(whole))


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        text.ljust(width) if place < _TEXTS else text.rjust(width)
        for place, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
