"""Step: what was written down at its end only, or as a moment that never ended, gets the time that it took.

Logfire ends the span of a streamed call when the stream opens, and tells at its end, in a log, how long it took. BeeAI
writes events down as spans, all open to the end of the run: the real end of one is the next event.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.role import Role
from spanwise_analyzer.timeline.forest import Forest, by_trace
from spanwise_analyzer.tree import Node

_LOG: Final = ("logfire.span_type", "log")
_TOOK: Final = "duration"  # s
_EVENTS: Final = "openinference.instrumentation.beeai"
_BEGINNING: Final = re.compile(r".+\.start-\d+")
_EVENT: Final = re.compile(r".+\.\w+-\d+")
_ROUND: Final = re.compile(r"iteration-\d+")  # lasts until the next one, whatever it holds
_LONGEST_S: Final = 1e6


def place(forest: Forest) -> None:
    """Move starts and ends to where they were; links must be known."""
    nodes = forest.nodes.values()
    logs = [node for node in nodes if node.role is Role.INFERENCE and node.record.text(_LOG[0]) == _LOG[1]]
    told = [node for node in nodes if node.record.scope.startswith(_EVENTS)]
    events = [node for node in told if _EVENT.fullmatch(node.record.name)]
    rounds = [node for node in told if _ROUND.fullmatch(node.record.name)]
    for log in logs:
        _stretch(forest, log)
    for trace in (*by_trace(events).values(), *by_trace(rounds).values()):
        _end_with_next(forest, trace)
    if logs or told:
        ordered = sorted(nodes, key=lambda node: (node.start_ns, node.end_ns, node.key))
        forest.nodes = {node.key: node for node in ordered}


def _stretch(forest: Forest, log: Node) -> None:
    """The span that opened the stream lasts to its log; a log without one begins as long before it as it says."""
    took = log.record.number(_TOOK)
    if took is None or not 0 < took < _LONGEST_S:
        return
    forest.note(log, Oddity.WRITTEN_AT_END)
    opened = (node for node in forest.nodes.values() if _opened(node, log))
    opener = max(opened, key=lambda node: (node.start_ns, node.key), default=None)
    if opener is None:
        log.start_ns = max(0, log.end_ns - round(took * 1e9))
    else:
        opener.end_ns = max(opener.end_ns, log.end_ns)


def _opened(node: Node, log: Node) -> bool:
    alike = node.role is Role.INFERENCE and node.parent is log.parent and node.record.scope == log.record.scope
    return alike and node is not log and node.key[0] == log.key[0] and node.record.end_ns <= log.record.start_ns


def _end_with_next(forest: Forest, events: list[Node]) -> None:
    starts = [node.start_ns for node in events]
    for node in events:
        later = bisect_right(starts, node.start_ns)
        end_ns = node.start_ns
        if _ROUND.fullmatch(node.record.name) or _BEGINNING.fullmatch(node.record.name):
            end_ns = starts[later] if later < len(starts) else node.end_ns
        if end_ns < node.end_ns:
            node.end_ns = end_ns
            forest.note(node, Oddity.LEFT_OPEN)
