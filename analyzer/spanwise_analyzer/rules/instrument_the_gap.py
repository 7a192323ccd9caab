"""The longest part of the conversation is time that no span explains."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from spanwise.stages import Stage
from spanwise_analyzer.ledger import Ledger, Segment
from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "instrument-the-gap"
_GAPS = frozenset({Stage.UNATTRIBUTED, Stage.AGENT_OVERHEAD, Stage.OTHER})


def find(view: View) -> Finding | None:
    """No latency claim: the gap has to be seen before it can be shortened."""
    pole = view.ledger.dominant
    if pole is None or pole.stage not in _GAPS | {Stage.MCP_OPAQUE}:
        return None
    evidence = _opaque(view.ledger) if pole.stage is Stage.MCP_OPAQUE else _holes(view.ledger, pole.stage)
    return Finding(RULE, pole.stage, SavingKind.NONE, None, evidence) if evidence else None


def _holes(ledger: Ledger, stage: Stage) -> list[Evidence]:
    limits = {"ms": book.limit(RULE, "hole_ms"), "share": book.limit(RULE, "hole_share")}
    return [hole for hole in _runs(ledger, stage) if saving.at_least(ledger, hole.ns, **limits)]


def _runs(ledger: Ledger, stage: Stage) -> Iterator[Evidence]:
    """Uninterrupted stretches of one owner; where the stage changes in between it is another stretch."""
    for (owner, found), run in groupby(ledger.segments, key=_owner_and_stage):
        if found is stage:
            yield Evidence(owner, sum(segment.ns for segment in run), "nothing instrumented ran in this stretch")


def _owner_and_stage(segment: Segment) -> tuple[tuple[str, str], Stage]:
    return (segment.span.key if segment.span else ("", ""), segment.stage)


def _opaque(ledger: Ledger) -> list[Evidence]:
    limits = {"ms": book.limit(RULE, "opaque_ms"), "share": book.limit(RULE, "hole_share")}
    if not saving.at_least(ledger, ledger.stage_ns(Stage.MCP_OPAQUE), **limits):
        return []
    opaque = {segment.span.key for segment in ledger.segments if segment.stage is Stage.MCP_OPAQUE and segment.span}
    what = "the server of this request is not instrumented"
    return [
        Evidence(key, ledger.owned_by([key]), what) for key in sorted(opaque, key=lambda key: -ledger.owned_by([key]))
    ]
