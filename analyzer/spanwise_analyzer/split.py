"""Two other views of parallel time: what each stage was busy, and an equal share for everything that ran at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import lcm

from spanwise.stages import Stage
from spanwise_analyzer.ledger import Segment
from spanwise_analyzer.owners import Piece
from spanwise_analyzer.tree import Node, Tree


def own_time(tree: Tree) -> list[Piece]:
    """Where each blocking span is open and none of its blocking children reaches; parallel pieces overlap."""
    return [piece for node in tree.root.walk() if node.span is not None for piece in _own_time(node)]


def busy(segments: Iterable[Segment]) -> Counter[Stage]:
    """Summed lengths by stage, in ns: parallel work counts as often as it ran."""
    total: Counter[Stage] = Counter()
    for segment in segments:
        total[segment.stage] += segment.ns
    return total


def equal_split(segments: Iterable[Segment]) -> Mapping[Stage, int]:
    """Each instant is shared evenly among the segments that run then; in ns, summing exactly to their union."""
    edges: dict[int, Counter[Stage]] = defaultdict(Counter)
    for segment in segments:
        edges[segment.start_ns][segment.stage] += 1
        edges[segment.end_ns][segment.stage] -= 1
    running: Counter[Stage] = Counter()
    weights: dict[int, Counter[Stage]] = defaultdict(Counter)  # by how many ran at once
    then = 0
    for now in sorted(edges):
        at_once = running.total()
        for stage, count in running.items() if at_once else ():
            weights[at_once][stage] += (now - then) * count
        running.update(edges[now])
        then = now
    return _rounded(weights)


def _rounded(weights: Mapping[int, Counter[Stage]]) -> Mapping[Stage, int]:
    """Whole ns by largest remainder, ties in the order of the stages."""
    unit = lcm(*weights)  # exact, as fractions would be, at a tenth of their cost
    parts: Counter[Stage] = Counter()
    for count, row in weights.items():
        for stage, ns in row.items():
            parts[stage] += ns * (unit // count)
    found = Counter({stage: part // unit for stage, part in parts.items()})
    missing = parts.total() // unit - found.total()
    for stage in sorted(Stage, key=lambda stage: -(parts[stage] % unit))[:missing]:
        found[stage] += 1
    return found


def _own_time(node: Node) -> Iterable[Piece]:
    now = node.start_ns
    for child in sorted(node.children, key=lambda child: child.eff_start_ns):
        if now < min(child.eff_start_ns, node.end_ns):
            yield Piece(now, min(child.eff_start_ns, node.end_ns), node)
        now = max(now, child.eff_end_ns)
    if now < node.end_ns:
        yield Piece(now, node.end_ns, node)
