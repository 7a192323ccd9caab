"""Where active time went, summed over stored segments, and over hours where segments are gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from spanwise_collector.store.cursors import Row
from spanwise_collector.store.hours import ACTIVE, BUCKET, HOUR_NS, LEVELS, level, percentile
from spanwise_collector.store.ledgers import DIMENSIONS, AttributionRow, Dimension, LedgerFilter
from spanwise_collector.store.listing import Query, conditions

_NAMED: Final = {
    "service": "s.service = $service",
    "agent": "s.agent = $agent",
    "model": "s.model = $model",
    "tool": "s.tool = $tool",
    "server": "s.server = $server",
    "stage": "s.stage = $stage",
}
_SINGLE: Final = {"status": "l.status = $status", "min_active_ns": "l.active_ns >= $min_active_ns"}
_STARTED: Final = {"since_ns": "l.started_ns >= $since_ns", "until_ns": "l.started_ns < $until_ns"}
_CONDITIONS: Final = {**_STARTED, **_NAMED, **_SINGLE}
# Whole hours: one that the window's ends cut is in if it begins within the window.
_HOURS: Final = {"since_ns": f"s.hour * {HOUR_NS} >= $since_ns", "until_ns": f"s.hour * {HOUR_NS} < $until_ns"}


def attribution(rows: Query, group_by: Sequence[Dimension], filters: LedgerFilter) -> list[AttributionRow]:
    """Groups by owned time, largest first; raises ValueError on an unknown or repeated dimension."""
    if len(set(group_by)) < len(group_by) or not set(group_by) <= set(DIMENSIONS):
        raise ValueError(f"group_by: {','.join(group_by)!r} is not made of {', '.join(DIMENSIONS)}")
    found = _estimated(rows, group_by, filters) if not filters.single and outlived(rows, filters) else []
    return found or _exact(rows, group_by, filters)


def outlived(rows: Query, filters: LedgerFilter) -> bool:
    """Whether there are hours in the time that the filters name."""
    where, values = conditions(filters, _HOURS)
    return bool(rows(f"SELECT 1 FROM hours s WHERE {where} LIMIT 1", values))  # noqa: S608  # as below


def _exact(rows: Query, group_by: Sequence[Dimension], filters: LedgerFilter) -> list[AttributionRow]:
    owned, values = _owned(group_by, filters)
    groups = "".join(f'"{dimension}", ' for dimension in group_by)
    order = ", ".join(["sum(ns) DESC", *(f'"{dimension}"' for dimension in group_by)])
    sql = f"""
        SELECT {groups}sum(ns), quantile_cont(ns::DOUBLE, 0.5), quantile_cont(ns::DOUBLE, 0.95),
            quantile_cont(ns::DOUBLE, 0.99), count(*), sum(segments)
        FROM ({owned}) GROUP BY ALL HAVING count(*) > 0 ORDER BY {order}
    """  # noqa: S608  # dimensions are checked, values are parameters
    return _shared([_row(group_by, row) for row in rows(sql, values)])


def _owned(group_by: Sequence[Dimension], filters: LedgerFilter) -> tuple[str, dict[str, Any]]:
    """Ns and segments of each group in each conversation that still has segments."""
    where, values = conditions(filters, _CONDITIONS)
    keys = "".join(f's."{dimension}", ' for dimension in group_by)
    sql = f"""
        SELECT {keys}s.ledger, sum(s.ns) AS ns, count(*) AS segments
        FROM segments s JOIN ledgers l ON s.ledger = l.id
        WHERE list_contains($active, s.stage) AND {where}
        GROUP BY ALL
    """  # noqa: S608  # as above
    return sql, {**values, "active": ACTIVE}


def _estimated(rows: Query, group_by: Sequence[Dimension], filters: LedgerFilter) -> list[AttributionRow]:
    """As ``_exact``, with the hours; conversations that still have segments are put into buckets as those are."""
    owned, values = _owned(group_by, filters)
    where, more = conditions(filters, {**_HOURS, **_NAMED})
    groups = "".join(f'"{dimension}", ' for dimension in group_by)
    told_apart = [name for name in LEVELS if name in group_by or getattr(filters, name) is not None]
    sql = f"""
        SELECT {groups}bucket, sum(ns), sum(conversations), sum(segments)
        FROM (
            SELECT {groups}{BUCKET} AS bucket, ns, 1 AS conversations, segments FROM ({owned})
            UNION ALL
            SELECT {groups}bucket, ns, conversations, segments FROM hours s WHERE level = $level AND {where}
        )
        GROUP BY ALL ORDER BY bucket
    """  # noqa: S608  # as above
    cells: dict[Row, list[Row]] = defaultdict(list)
    for row in rows(sql, {**values, **more, "level": level(told_apart)}):
        cells[row[: len(group_by)]].append(row[len(group_by) :])
    found = [replace(_row(group_by, key + _summary(cell)), estimated=True) for key, cell in cells.items()]
    return _shared(sorted(found, key=lambda row: (-row.ns, [str(name) for name in row.group.values()])))


def _summary(cell: Sequence[Row]) -> Row:
    counts = [(int(bucket), int(conversations)) for bucket, _, conversations, _ in cell]
    _, ns, conversations, segments = (sum(map(int, column)) for column in zip(*cell, strict=True))
    return (ns, *(percentile(counts, share) for share in (0.5, 0.95, 0.99)), conversations, segments)


def _row(group_by: Sequence[Dimension], row: Row) -> AttributionRow:
    total, p50, p95, p99, conversations, segments = row[len(group_by) :]
    group = dict(zip(group_by, row, strict=False))
    return AttributionRow(group, int(total), 0.0, p50, p95, p99, int(conversations), int(segments))


def _shared(found: Sequence[AttributionRow]) -> list[AttributionRow]:
    whole = sum(row.ns for row in found)
    return [replace(row, share=row.ns / whole if whole else 0.0) for row in found]
