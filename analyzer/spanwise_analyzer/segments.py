"""The fact table: every instant of a conversation with its owner, its stage and its turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spanwise_analyzer import clientwork, gaps, retries, split
from spanwise_analyzer.calls import ModelCalls
from spanwise_analyzer.claims import Claims
from spanwise_analyzer.classify import Stages, stages
from spanwise_analyzer.ledger import Problem, Segment
from spanwise_analyzer.owners import Piece, partition
from spanwise_analyzer.tree import Tree
from spanwise_analyzer.turns import Rounds


class Facts(NamedTuple):
    """Owned time tiles the window, in order. Run time is every span's own time, so parallel work overlaps in it."""

    owned: Sequence[Segment]
    ran: Sequence[Segment]
    problems: Sequence[Problem]


def facts(tree: Tree, calls: ModelCalls, rounds: Rounds, *, idle_threshold_ns: int) -> Facts:
    """All segments of a conversation; cut where a stage changes inside a span."""
    pieces = partition(tree)
    pauses, inferred = gaps.pauses(tree, pieces, threshold_ns=idle_threshold_ns)
    claims = Claims([*retries.claims(tree), *clientwork.claims(tree), *gaps.answers(tree), *pauses])
    phases = stages(tree, calls)
    unowned = [gaps.unowned(piece, rounds, threshold_ns=idle_threshold_ns) for piece in pieces if piece.node is None]
    owned = [*claims.apply(_staged(pieces, phases, rounds)), *unowned]
    ran = [*claims.apply(_staged(split.own_time(tree), phases, rounds)), *unowned]
    return Facts(sorted(owned, key=lambda segment: segment.start_ns), ran, inferred)


def _staged(pieces: Iterable[Piece], phases: Stages, rounds: Rounds) -> Iterator[Segment]:
    for start, end, node in pieces:
        if node is not None:
            turn = rounds.numbers.get(node)
            for low, high, stage in phases[node].cut(start, end):
                yield Segment(low, high, stage, node.span, turn)
