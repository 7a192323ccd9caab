"""Gives every instant of the window to exactly one span: the one that the end of the conversation waited for.

The chain of last finishers is preferred. A hole in it belongs to a sibling that still runs, and only if none does
to the parent: an agent's own time is when it is open and nothing below it runs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from spanwise_analyzer.tree import Node, Tree
from spanwise_analyzer.waits import waited_for


class Piece(NamedTuple):
    """An interval that one node owns; nobody does when ``node`` is None."""

    start_ns: int
    end_ns: int
    node: Node | None


class _Window(NamedTuple):
    """A part of a node's reach that is still to be shared out."""

    node: Node
    start_ns: int
    end_ns: int


def partition(tree: Tree) -> list[Piece]:
    """Disjoint pieces that cover the window without a gap, in order; touching ones of one owner are merged.

    Windows of one node never overlap, so all of them together pass over each child once: O(n log n) on real traces.
    """
    rows: dict[Node, _Row] = {}
    pieces: list[Piece] = []
    stack = [_Window(tree.root, tree.root.eff_start_ns, tree.root.eff_end_ns)]
    while stack:
        window = stack.pop()
        row = rows.get(window.node)
        if row is None:
            row = rows[window.node] = _row(window.node)
        for part in _share(window, row, tree):
            if part.node is window.node:
                pieces.extend(_own(part))
            else:
                stack.append(part)
    return _merged(sorted(pieces, key=lambda piece: piece.start_ns))


@dataclass(frozen=True, slots=True)
class _Row:
    """The children of a node, last finisher first.

    ``ends`` holds their negated ends for bisection; of the first ``i + 1``, ``earliest[i]`` started first.
    """

    children: list[Node]
    ends: list[int]
    earliest: list[Node]


def _row(node: Node) -> _Row:
    children = [child for child in node.children if child.eff_start_ns < child.eff_end_ns]
    children.sort(key=lambda child: (-child.eff_end_ns, child.eff_start_ns, child.key))
    earliest: list[Node] = []
    for child in children:
        first = earliest[-1] if earliest else child
        earliest.append(child if child.eff_start_ns < first.eff_start_ns else first)
    return _Row(children, [-child.eff_end_ns for child in children], earliest)


def _share(window: _Window, row: _Row, tree: Tree) -> Iterator[_Window]:
    """Walk back from the end of the window; what the node itself gets comes out under its own name.

    At any instant the children that end later have either had their part, and then start later too, or still run: the
    earliest start among all of them tells whether one runs.
    """
    node, start, now = window
    at = bisect_left(row.ends, -now)
    after: Node | None = None
    while now > start:
        while at < len(row.ends) and -row.ends[at] > now:
            at += 1
        finished = max(start, -row.ends[at]) if at < len(row.ends) else start
        if finished < now:
            yield from _hole(node, finished, now, running=row.earliest[at - 1] if at else None)
            now = finished
        else:
            after = _last(row, at, tree, after=after)
            since = max(start, after.eff_start_ns)
            yield _Window(after, since, now)
            now = since


def _last(row: _Row, at: int, tree: Tree, *, after: Node | None) -> Node:
    """The child that finished last; of several at once the one that the next in the chain says it waited for."""
    if after is None or not after.record.links:
        return row.children[at]
    tied = row.children[at : bisect_right(row.ends, row.ends[at])]
    return next((node for node in waited_for(tree, after) if node in tied), tied[0])


def _hole(node: Node, start_ns: int, end_ns: int, *, running: Node | None) -> Iterator[_Window]:
    """Nothing finished inside the hole: a running child takes what it can, the node the rest."""
    since = end_ns if running is None else min(end_ns, max(start_ns, running.eff_start_ns))
    if running is not None and since < end_ns:
        yield _Window(running, since, end_ns)
    if start_ns < since:
        yield _Window(node, start_ns, since)


def _own(window: _Window) -> Iterator[Piece]:
    """The node's own time where it is open; outside, its nearest open ancestor's, else nobody's."""
    open_parts = [(window.start_ns, window.end_ns)]
    node: Node | None = window.node
    while open_parts and node is not None and node.span is not None:
        rest: list[tuple[int, int]] = []
        for start, end in open_parts:
            low, high = max(start, node.start_ns), min(end, node.end_ns)
            if low < high:
                yield Piece(low, high, node)
                rest += [part for part in ((start, low), (high, end)) if part[0] < part[1]]
            else:
                rest.append((start, end))
        open_parts, node = rest, node.parent
    yield from (Piece(start, end, None) for start, end in open_parts)


def _merged(pieces: list[Piece]) -> list[Piece]:
    merged: list[Piece] = []
    for piece in pieces:
        if merged and merged[-1].node is piece.node and merged[-1].end_ns == piece.start_ns:
            merged[-1] = Piece(merged[-1].start_ns, piece.end_ns, piece.node)
        else:
            merged.append(piece)
    return merged
