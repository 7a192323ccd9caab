"""What a token costs in time, from many own calls: least absolute deviations, resampled by conversation."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spanwise_analyzer.rules import book
from spanwise_analyzer.rules.interval import Floats

_ROUNDS = 25
_LEVELS = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Row:
    """One model call: time to read the prompt in ns (the whole call with ``output`` where it was not streamed)."""

    conversation: str
    ns: int
    uncached: int
    cached: int
    output: int | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """Time per token in ns with its 95 % interval."""

    low: float
    expected: float
    high: float

    @property
    def supported(self) -> bool:
        """Whether the interval excludes zero: only then do fewer tokens promise less time."""
        return self.low > 0


@dataclass(frozen=True, slots=True)
class Slope:
    """Prices of one deployment: per uncached and per cached input token."""

    uncached: Price
    cached: Price
    rows: int


def fit(rows: Sequence[Row]) -> Slope | None:
    """The prices of one deployment; None when the rows cannot tell them (too few, too alike, or confounded)."""
    if not _enough(rows):
        return None
    regressors, times = _design(rows)
    centre = lad(regressors, times)
    draws = _draws(rows, regressors, times)
    low, high = np.quantile(draws, _LEVELS, axis=0)
    return Slope(
        uncached=Price(float(low[1]), float(centre[1]), float(high[1])),
        cached=Price(float(low[2]), float(centre[2]), float(high[2])),
        rows=len(rows),
    )


def lad(regressors: Floats, times: Floats) -> Floats:
    """Coefficients with the least sum of absolute errors, by reweighted least squares."""
    scale = np.maximum(np.abs(regressors).max(axis=0), 1.0)
    scaled = regressors / scale
    beta: Floats = np.linalg.lstsq(scaled, times, rcond=None)[0]
    floor = max(1e-6 * float(np.abs(times).max()), 1e-9)
    for _ in range(_ROUNDS):
        weights = 1 / np.sqrt(np.maximum(np.abs(times - scaled @ beta), floor))
        beta = np.linalg.lstsq(scaled * weights[:, None], times * weights, rcond=None)[0]
    found: Floats = beta / scale
    return found


def _enough(rows: Sequence[Row]) -> bool:
    if len(rows) < book.constant("slope", "min_rows"):
        return False
    if len({row.conversation for row in rows}) < book.constant("slope", "min_conversations"):
        return False
    uncached = np.array([row.uncached for row in rows], dtype=np.float64)
    spread = float(np.subtract(*np.quantile(uncached, [0.75, 0.25])))
    return spread >= book.constant("slope", "min_iqr_tokens") and not _confounded(rows, uncached)


def _confounded(rows: Sequence[Row], uncached: Floats) -> bool:
    output = np.array([row.output or 0 for row in rows], dtype=np.float64)
    if output.std() == 0:
        return False
    return abs(float(np.corrcoef(uncached, output)[0, 1])) >= book.constant("slope", "max_correlation")


def _design(rows: Sequence[Row]) -> tuple[Floats, Floats]:
    columns = [[1.0, float(row.uncached), float(row.cached)] for row in rows]
    if any(row.output is not None for row in rows):
        columns = [[*column, float(row.output or 0)] for column, row in zip(columns, rows, strict=True)]
    return np.array(columns), np.array([float(row.ns) for row in rows])


def _draws(rows: Sequence[Row], regressors: Floats, times: Floats) -> Floats:
    """Coefficients of resamples of whole conversations; calls of one conversation share their luck."""
    names = sorted({row.conversation for row in rows})
    members = [np.array([i for i, row in enumerate(rows) if row.conversation == name]) for name in names]
    rng = np.random.default_rng(zlib.crc32("\n".join(names).encode()))
    found = []
    for _ in range(int(book.constant("slope", "resamples"))):
        chosen = np.concatenate([members[i] for i in rng.integers(0, len(names), len(names))])
        found.append(lad(regressors[chosen], times[chosen]))
    return np.array(found)
