"""Step: a span without an end lasts as long as what it started."""

from __future__ import annotations

from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.timeline.background import unawaited
from spanwise_analyzer.timeline.forest import Forest


def close(forest: Forest) -> None:
    """Give unfinished spans the end of the last child they wait for, else no duration."""
    for node in reversed(list(forest.top_down())):
        if node.record.end_ns <= 0:
            forest.note(node, Oddity.UNFINISHED)
        parent = node.parent
        if parent is None or parent.span is None or unawaited(node.record, parent):
            continue
        if parent.span.end_ns <= 0:
            parent.end_ns = max(parent.end_ns, node.end_ns)
