"""Active time by hour that outlives segments: histograms of ns per conversation, which can be added up.

A bucket is as wide as a factor of GROWTH, and its middle stands for all that is in it: a percentile is off by less
than 2 % (``ERROR``) from that of the values themselves, which are those of one conversation in one hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import duckdb
import pyarrow as pa

from spanwise.stages import Stage

GROWTH: Final = 1.04
ERROR: Final = (GROWTH - 1) / (GROWTH + 1)
HOUR_NS: Final = 3_600_000_000_000
LEVELS: Final = ("stage", "model", "tool", "server")  # what rows may be told apart by, beside hour, service and agent
ACTIVE: Final = [str(stage) for stage in Stage if stage.active]
BUCKET: Final = f"ceil(ln(ns) / ln({GROWTH}))::SMALLINT"
_KEYS: Final = "hour, level, stage, model, tool, server, service, agent, bucket"
# Some 35 ms for any number of ledgers, so nothing that the writer should do.
HOURLY: Final = f"""
    SELECT hour, level, stage, model, tool, server, service, agent, {BUCKET} AS bucket,
        count(*) AS conversations, sum(segments) AS segments, sum(ns) AS ns
    FROM (
        SELECT start_ns // {HOUR_NS} AS hour, {", ".join(LEVELS)}, service, agent,
            grouping({", ".join(LEVELS)}) AS level, sum(ns) AS ns, count(*) AS segments
        FROM segments
        WHERE ledger BETWEEN $first AND $last AND list_contains($ids, ledger) AND list_contains($active, stage)
        GROUP BY ledger, start_ns // {HOUR_NS}, service, agent, CUBE ({", ".join(LEVELS)})
    )
    GROUP BY ALL
"""  # noqa: S608  # every part is a constant
_SUMMED: Final = f"""
    SELECT {_KEYS}, sum(conversations)::BIGINT AS conversations, sum(segments)::BIGINT AS segments, sum(ns) AS ns
    FROM hours WHERE hour = $hour GROUP BY ALL
"""  # noqa: S608  # as above
LOOSE: Final = f"SELECT DISTINCT hour FROM (SELECT {_KEYS} FROM hours GROUP BY ALL HAVING count(*) > 1)"  # noqa: S608


def add(cursor: duckdb.DuckDBPyConnection, rows: pa.Table) -> None:
    """Insert rows of hours."""
    cursor.register("batch", rows)
    cursor.execute("INSERT INTO hours BY NAME SELECT * FROM batch")


def condense(cursor: duckdb.DuckDBPyConnection, hour: int) -> None:
    """Make one row of all rows of this hour that have one key."""
    rows = cursor.sql(_SUMMED, params={"hour": hour}).to_arrow_table()
    cursor.execute("DELETE FROM hours WHERE hour = $hour", {"hour": hour})
    add(cursor, rows)


def level(told_apart: Sequence[str]) -> int:
    """The level whose rows are told apart by these dimensions; service and agent always are."""
    bits = [1 << place for place, name in enumerate(reversed(LEVELS)) if name not in told_apart]
    return sum(bits)


def percentile(counts: Sequence[tuple[int, int]], share: float) -> float:
    """Ns below which this share lies, interpolated linearly; ``counts`` are (bucket, conversations), sorted."""
    rank = share * (sum(number for _, number in counts) - 1)
    low, high = _ranked(counts, int(rank)), _ranked(counts, -int(-rank // 1))
    return low + (high - low) * (rank % 1)


def _ranked(counts: Sequence[tuple[int, int]], rank: int) -> float:
    passed = accumulate(number for _, number in counts)
    bucket = next(bucket for (bucket, _), upto in zip(counts, passed, strict=True) if rank < upto)
    return float(2 * GROWTH**bucket / (GROWTH + 1))
