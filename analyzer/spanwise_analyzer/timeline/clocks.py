"""Step: put every process on the clock of its clients, where the spans prove that the clocks differ."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median_low
from typing import NamedTuple

from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.timeline.forest import Forest
from spanwise_analyzer.tree import Node
from spanwise_collector.span import Kind

Processes = tuple[str, str]  # client, server


class Offset(NamedTuple):
    """What to add to a server process's times; the true value lies in ``[low_ns, high_ns]``."""

    ns: int
    low_ns: int
    high_ns: int

    @property
    def consistent(self) -> bool:
        """Whether one offset can explain all requests."""
        return self.low_ns <= self.high_ns


def align(forest: Forest) -> None:
    """Shift all spans of a process by one offset, so that no server answers before it was asked.

    Durations never change, stored times neither. A skew below the network time cannot be seen and is left alone.
    """
    offsets = _offsets(forest)
    shifts = _shifts(offsets, [node.record.process for node in forest.nodes.values()])
    told: set[str] = set()
    for node in forest.nodes.values():
        process = node.record.process
        if process in shifts:
            _move(node, shifts[process])
            if process not in told:
                told.add(process)
                _tell(forest, node, shifts[process])
            node.flags.add(Oddity.CLOCK_SHIFTED)


def _move(node: Node, shift: Offset) -> None:
    node.start_ns += shift.ns
    node.end_ns += shift.ns


def _tell(forest: Forest, node: Node, shift: Offset) -> None:
    """One problem per process: its spans may be many."""
    forest.note(node, Oddity.CLOCK_SHIFTED, detail=f" by {shift.ns} ns (between {shift.low_ns} and {shift.high_ns})")
    if not shift.consistent:
        forest.note(node, Oddity.CLOCK_INCONSISTENT)


def _offsets(forest: Forest) -> dict[Processes, Offset]:
    bounds: dict[Processes, list[tuple[int, int]]] = {}
    for node in forest.nodes.values():
        pair = _pair(node)
        if pair is not None and node.parent is not None:
            client = node.parent
            bounds.setdefault(pair, []).append((client.start_ns - node.start_ns, client.end_ns - node.end_ns))
    return {pair: _offset(found) for pair, found in bounds.items()}


def _pair(node: Node) -> Processes | None:
    """The two processes of a request, if its spans can say anything about their clocks.

    A server that worked longer than its client waited was abandoned: no offset puts it inside, so it proves nothing.
    """
    client = node.parent
    if client is None or client.span is None or node.span is None or node.ns > client.ns:
        return None
    if client.span.kind is not Kind.CLIENT or node.span.kind is not Kind.SERVER:
        return None
    pair = client.span.process, node.span.process
    return pair if all(pair) and pair[0] != pair[1] else None


def _offset(bounds: list[tuple[int, int]]) -> Offset:
    low, high = max(low for low, _ in bounds), min(high for _, high in bounds)
    if low <= 0 <= high:
        return Offset(0, low, high)
    if low <= high:
        return Offset((low + high) // 2, low, high)
    return Offset(median_low(sum(pair) // 2 for pair in bounds), low, high)


def _shifts(offsets: dict[Processes, Offset], processes: Iterable[str]) -> dict[str, Offset]:
    """Add offsets up along chains of calls, starting with processes that serve nobody; only real shifts are kept."""
    servers = {server for _, server in offsets}
    first = list(dict.fromkeys(processes))
    calls: dict[str, list[str]] = {}
    for client, server in sorted(offsets):
        calls.setdefault(client, []).append(server)
    placed: dict[str, Offset] = {}
    for start in sorted(first, key=lambda process: process in servers):
        _place(start, calls, offsets, placed)
    return {process: shift for process, shift in placed.items() if shift.ns}


def _place(
    start: str, calls: dict[str, list[str]], offsets: dict[Processes, Offset], placed: dict[str, Offset]
) -> None:
    placed.setdefault(start, Offset(0, 0, 0))
    queue = [start]
    for client in queue:
        for server in calls.get(client, ()):
            if server not in placed:
                placed[server] = _sum(placed[client], offsets[client, server])
                queue.append(server)


def _sum(first: Offset, second: Offset) -> Offset:
    return Offset(*(one + other for one, other in zip(first, second, strict=True)))
