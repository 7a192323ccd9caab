"""A write was sent again after it had failed, or a call ran far beyond its usual time."""

from __future__ import annotations

from spanwise import semconv
from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.tool import ToolCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "timeouts-and-retries"


def find(view: View) -> Finding | None:
    """Exact for calls beyond the usual time, cut at a deadline; no claim for writes that were repeated."""
    late = [(call, over) for call in view.tool_calls if (over := _beyond_deadline(view, call)) > 0]
    again = _repeated_writes(view)
    if not late and not again:
        return None
    evidence = [
        Evidence(call.key, over, f"{call.name} ran that much longer than a deadline would allow") for call, over in late
    ]
    evidence += [
        Evidence(call.key, view.owned([call.node]), f"{call.name} changes something and was sent again")
        for call in again
    ]
    stage = view.stage([call.node for call in [*(call for call, _ in late), *again]])
    cut = sum(min(over, view.owned([call.node])) for call, over in late)
    kind = SavingKind.EXACT if late else SavingKind.NONE
    return Finding(RULE, stage, kind, saving.ranged(0, cut, cut) if late else None, evidence)


def _beyond_deadline(view: View, call: ToolCall) -> int:
    """How far a call ran beyond a multiple of the tool's slow calls; 0 where the fleet does not know the tool."""
    usual = view.norms.tool_p99_ns.get((call.server, call.name))
    return max(0, call.node.ns - round(usual * book.limit(RULE, "outlier_factor"))) if usual else 0


def _repeated_writes(view: View) -> list[ToolCall]:
    first: dict[object, ToolCall] = {}
    found = []
    for call in view.tool_calls:
        if call.same_call is None or not _writes(call):
            continue
        if call.same_call in first and first[call.same_call].failed:
            found.append(call)
        first.setdefault(call.same_call, call)
    return found


def _writes(call: ToolCall) -> bool:
    """Known to change something, and not known to be safe to repeat."""
    changes = call.flag(semconv.TOOL_READ_ONLY) is False or call.flag(semconv.TOOL_DESTRUCTIVE) is True
    return changes and call.flag(semconv.TOOL_IDEMPOTENT) is not True
