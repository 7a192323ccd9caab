"""The longest part of the conversation is time that no span explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.ledger import Ledger, Segment
from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind
from spanwise_collector.span import SpanKey

RULE = "instrument-the-gap"
_GAPS = frozenset({Stage.UNATTRIBUTED, Stage.AGENT_OVERHEAD, Stage.OTHER})


def find(view: View) -> Finding | None:
    """No latency claim: the gap has to be seen before it can be shortened."""
    pole = view.ledger.dominant
    if pole is None or pole.stage not in _GAPS | {Stage.MCP_OPAQUE}:
        return None
    evidence = _opaque(view.ledger) if pole.stage is Stage.MCP_OPAQUE else _holes(view, pole.stage)
    return Finding(RULE, pole.stage, SavingKind.NONE, None, evidence) if evidence else None


def _holes(view: View, stage: Stage) -> list[Evidence]:
    ledger = view.ledger
    limits = {"ms": book.limit(RULE, "hole_ms"), "share": book.limit(RULE, "hole_share")}
    holes = [hole for hole in _runs(ledger, stage) if saving.at_least(ledger, hole.ns, **limits)]
    missing = "" if view.model_calls else "; no model call is traced at all: instrument the model's client first"
    return [replace(hole, what=f"{_inside(ledger, hole.span)}{missing}") for hole in holes]


def _inside(ledger: Ledger, key: SpanKey) -> str:
    """Where the stretch is, by name: what has to be instrumented is there, or is called from there."""
    node = ledger.tree.nodes.get(key)
    if node is None:
        return "between the spans of this conversation nothing instrumented ran"
    span = node.record
    place = f"'{span.name}' of {span.service}" + (f" ({span.scope})" if span.scope else "")
    return f"inside {place} nothing instrumented ran"


def _runs(ledger: Ledger, stage: Stage) -> Iterator[Evidence]:
    """Uninterrupted stretches of one owner; where the stage changes in between it is another stretch."""
    for (owner, found), run in groupby(ledger.segments, key=_owner_and_stage):
        if found is stage:
            yield Evidence(owner, sum(segment.ns for segment in run), "")


def _owner_and_stage(segment: Segment) -> tuple[tuple[str, str], Stage]:
    return (segment.span.key if segment.span else ("", ""), segment.stage)


def _opaque(ledger: Ledger) -> list[Evidence]:
    limits = {"ms": book.limit(RULE, "opaque_ms"), "share": book.limit(RULE, "hole_share")}
    if not saving.at_least(ledger, ledger.stage_ns(Stage.MCP_OPAQUE), **limits):
        return []
    opaque = {segment.span.key for segment in ledger.segments if segment.stage is Stage.MCP_OPAQUE and segment.span}
    return [
        Evidence(key, ledger.owned_by([key]), _server(ledger, key))
        for key in sorted(opaque, key=lambda key: -ledger.owned_by([key]))
    ]


def _server(ledger: Ledger, key: SpanKey) -> str:
    span = ledger.tree.nodes[key].record
    name = span.text(semconv.MCP_SERVER_NAME) or span.text(semconv.SERVER_ADDRESS)
    tool = span.text(semconv.GEN_AI_TOOL_NAME)
    return f"the MCP server {name or 'of this request'}{f', which runs {tool},' if tool else ''} is not instrumented"
