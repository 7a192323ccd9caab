"""Where active time went, summed over stored segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spanwise.stages import Stage
from spanwise_collector.store.cursors import Row
from spanwise_collector.store.ledgers import DIMENSIONS, AttributionRow, Dimension, LedgerFilter
from spanwise_collector.store.listing import Query, conditions

_ACTIVE: Final = [str(stage) for stage in Stage if stage.active]
_CONDITIONS: Final = {
    "since_ns": "l.started_ns >= $since_ns",
    "until_ns": "l.started_ns < $until_ns",
    "service": "s.service = $service",
    "agent": "s.agent = $agent",
    "model": "s.model = $model",
    "tool": "s.tool = $tool",
    "server": "s.server = $server",
    "stage": "s.stage = $stage",
    "status": "l.status = $status",
    "min_active_ns": "l.active_ns >= $min_active_ns",
}


def attribution(rows: Query, group_by: Sequence[Dimension], filters: LedgerFilter) -> list[AttributionRow]:
    """Groups by owned time, largest first; raises ValueError on an unknown or repeated dimension."""
    if len(set(group_by)) < len(group_by) or not set(group_by) <= set(DIMENSIONS):
        raise ValueError(f"group_by: {','.join(group_by)!r} is not made of {', '.join(DIMENSIONS)}")
    where, values = conditions(filters, _CONDITIONS)
    found = rows(_sql(group_by, where), {**values, "active": _ACTIVE})
    whole = sum(int(row[len(group_by)]) for row in found)
    return [_row(group_by, row, whole) for row in found]


def _sql(group_by: Sequence[Dimension], where: str) -> str:
    keys = "".join(f's."{dimension}", ' for dimension in group_by)
    groups = "".join(f'"{dimension}", ' for dimension in group_by)
    order = ", ".join(["sum(ns) DESC", *(f'"{dimension}"' for dimension in group_by)])
    return f"""
        WITH owned AS (
            SELECT {keys}s.ledger, sum(s.ns) AS ns, count(*) AS segments
            FROM segments s JOIN ledgers l ON s.ledger = l.id
            WHERE list_contains($active, s.stage) AND {where}
            GROUP BY ALL
        )
        SELECT {groups}sum(ns), quantile_cont(ns::DOUBLE, 0.5), quantile_cont(ns::DOUBLE, 0.95),
            quantile_cont(ns::DOUBLE, 0.99), count(*), sum(segments)
        FROM owned GROUP BY ALL HAVING count(*) > 0 ORDER BY {order}
    """  # noqa: S608  # dimensions are checked, values are parameters


def _row(group_by: Sequence[Dimension], row: Row, whole: int) -> AttributionRow:
    total, p50, p95, p99, conversations, segments = row[len(group_by) :]
    group = dict(zip(group_by, row, strict=False))
    share = int(total) / whole if whole else 0.0
    return AttributionRow(group, int(total), share, p50, p95, p99, int(conversations), int(segments))
