"""Relabelling: parts of a span's own time that turn out to be something else. Sums never change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from spanwise.stages import Stage
from spanwise_analyzer.ledger import Segment
from spanwise_analyzer.tree import Node
from spanwise_collector.span import SpanKey


class Claim(NamedTuple):
    """``[start_ns, end_ns)`` of one node's own time is of this stage."""

    start_ns: int
    end_ns: int
    node: Node
    stage: Stage


class Claims:
    """All claims on a tree; where two of them overlap, the one that reaches further back wins."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self._by_span: dict[SpanKey, list[Claim]] = {}
        for claim in sorted(claims, key=lambda claim: (claim.start_ns, -claim.end_ns, claim.stage)):
            mine = self._by_span.setdefault(claim.node.key, [])
            start = max(claim.start_ns, mine[-1].end_ns) if mine else claim.start_ns
            if start < claim.end_ns:
                mine.append(claim._replace(start_ns=start))

    def apply(self, segments: Iterable[Segment]) -> list[Segment]:
        """The segments, cut where a claim begins or ends; a person's time is never claimed."""
        return [part for segment in segments for part in self._cut(segment)]

    def _cut(self, segment: Segment) -> Iterator[Segment]:
        mine = self._by_span.get(segment.span.key, ()) if segment.span and segment.stage.active else ()
        at, now = bisect_right(mine, segment.start_ns, key=attrgetter("end_ns")), segment.start_ns
        while at < len(mine) and mine[at].start_ns < segment.end_ns:
            low, high = max(now, mine[at].start_ns), min(segment.end_ns, mine[at].end_ns)
            if now < low:
                yield replace(segment, start_ns=now, end_ns=low)
            yield replace(segment, start_ns=low, end_ns=high, stage=mine[at].stage, was=segment.stage)
            at, now = at + 1, high
        if now < segment.end_ns:
            yield segment if now == segment.start_ns else replace(segment, start_ns=now)
