"""Failed attempts, and the pauses after them, took noticeable time."""

from __future__ import annotations

from collections import Counter

from spanwise.stages import Stage
from spanwise_analyzer.ledger import Segment
from spanwise_analyzer.rules import saving
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind
from spanwise_collector.span import SpanKey

RULE = "reduce-retries"
_WORDS = {Stage.RETRY_WASTED: "failed attempt", Stage.RETRY_BACKOFF: "pause before the next attempt"}


def find(view: View) -> Finding | None:
    """Exact: the time that failed attempts and pauses own."""
    wasted = [segment for segment in view.ledger.segments if segment.stage in _WORDS]
    if not wasted:
        return None
    found = saving.exact(sum(segment.ns for segment in wasted))
    stage = max(_WORDS, key=view.ledger.stage_ns)
    return Finding(RULE, stage, SavingKind.EXACT, found, _evidence(wasted))


def _evidence(wasted: list[Segment]) -> list[Evidence]:
    owned: Counter[tuple[SpanKey, Stage]] = Counter()
    for segment in wasted:
        key = segment.span.key if segment.span else ("", "")
        owned[key, segment.stage] += segment.ns
    return [Evidence(key, ns, _WORDS[stage]) for (key, stage), ns in owned.items()]
