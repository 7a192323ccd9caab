"""Where things stand in the page's charts: positions in thousandths of a turn or of all active time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from spanwise.stages import Group
from spanwise_analyzer.figures import duration
from spanwise_analyzer.shapes import Attribution, SegmentShape, SpanShape, Timeline

SpanId: TypeAlias = tuple[str | None, str | None]

_WIDTH = 1000
_ROWS = 300  # spans that one waterfall shows; more help nobody and slow the browser


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the time axis, in thousandths, with the words that explain it."""

    x: float
    width: float
    group: str
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """One span of the waterfall."""

    box: Box
    span: SpanShape


@dataclass(frozen=True, slots=True)
class TurnChart:
    """One turn: what the API says of it, its lanes by group, and its spans."""

    turn: Mapping[str, Any]
    duration_ms: float
    lanes: Mapping[str, Sequence[Box]]
    lines: Sequence[Line]
    hidden: int


@dataclass(frozen=True, slots=True)
class Part:
    """A group's part of a total."""

    group: str
    ms: float
    share: float
    x: float


def groups(where: Attribution) -> list[Part]:
    """The active time by group, in the order of groups, without empty ones."""
    sums = {group: sum(row.ms for row in where.groups if row.group == group) for group in Group}
    parts: list[Part] = []
    for group, spent in sums.items():
        if spent:
            share = spent / where.active_ms
            parts.append(Part(group, spent, share, sum(part.share for part in parts) * _WIDTH))
    return parts


def turns(said: Mapping[str, Any], timeline: Timeline) -> list[TurnChart]:
    """A chart for each turn."""
    return [_turn(turn, timeline) for turn in said["turns"]]


def _turn(turn: Mapping[str, Any], timeline: Timeline) -> TurnChart:
    own = [segment for segment in timeline.segments if segment.turn == turn["turn"]]
    start = min((segment.start_ms for segment in own), default=turn["offset_ms"])
    end = max((segment.end_ms for segment in own), default=start)
    spans = sorted((span for span in timeline.spans if _touches(span, start, end)), key=_order)
    colours = _main_groups(own)
    lines = [Line(_span_box(span, colours, (start, end)), span) for span in spans[:_ROWS]]
    return TurnChart(turn, end - start, _lanes(own, (start, end)), lines, max(0, len(spans) - _ROWS))


def _lanes(own: Sequence[SegmentShape], scale: tuple[float, float]) -> dict[str, list[Box]]:
    lanes: dict[str, list[Box]] = {group.value: [] for group in Group}
    for found in own:
        label = f"{found.stage}: {found.name or 'no span ran'}, {duration(found.end_ms - found.start_ms)}"
        lanes[found.group].append(_box((found.start_ms, found.end_ms), scale, found.group, label))
    return {group: boxes for group, boxes in lanes.items() if boxes}


def _touches(span: SpanShape, start: float, end: float) -> bool:
    return start <= span.start_ms < end or (span.start_ms < start < span.end_ms)


def _order(span: SpanShape) -> tuple[float, int, float, str]:
    return span.start_ms, span.depth, -span.end_ms, span.span_id


def _span_box(span: SpanShape, colours: Mapping[SpanId, str], scale: tuple[float, float]) -> Box:
    group = colours.get((span.trace_id, span.span_id), "none")
    return _box((span.start_ms, span.end_ms), scale, group, f"{span.name}, {duration(span.end_ms - span.start_ms)}")


def _main_groups(own: Sequence[SegmentShape]) -> dict[SpanId, str]:
    """The group in which each span owned most; spans that owned nothing are not in it."""
    owned: dict[SpanId, dict[str, float]] = {}
    for found in own:
        sums = owned.setdefault((found.trace_id, found.span_id), {})
        sums[found.group] = sums.get(found.group, 0.0) + found.end_ms - found.start_ms
    return {key: max(sums, key=lambda group: sums[group]) for key, sums in owned.items()}


def _box(times: tuple[float, float], scale: tuple[float, float], group: str, label: str) -> Box:
    start, end = scale
    length = end - start or 1.0
    x = max(0.0, min(1.0, (times[0] - start) / length))
    right = max(x, min(1.0, (times[1] - start) / length))
    return Box(round(x * _WIDTH, 3), round(max((right - x) * _WIDTH, 1.0), 3), group, label)
