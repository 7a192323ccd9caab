"""A read-only tool was called again with equal arguments and gave an equal result."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise import semconv
from spanwise_analyzer.rules import saving
from spanwise_analyzer.rules.facts.tool import ToolCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "cache-tool-results"


def find(view: View) -> Finding | None:
    """Exact by replay: the repeats are taken out."""
    calls = repeats(view)
    if not calls:
        return None
    nodes = [call.node for call in calls]
    evidence = [
        Evidence(call.key, view.owned([call.node]), f"{call.name} again, with equal arguments and an equal result")
        for call in calls
    ]
    found = saving.exact(saving.without(view.ledger, nodes))
    return Finding(RULE, view.stage(nodes), SavingKind.EXACT, found, evidence)


def repeats(view: View) -> list[ToolCall]:
    """All calls but the first of each group with one tool, equal arguments and one result."""
    groups: dict[object, list[ToolCall]] = {}
    for call in view.tool_calls:
        if call.same_call and call.key_id and not call.failed:
            groups.setdefault(call.same_call, []).append(call)
    return [call for calls in groups.values() if _cacheable(calls) for call in calls[1:]]


def _cacheable(calls: Sequence[ToolCall]) -> bool:
    answers = {call.text(semconv.TOOL_RESULT_HASH) for call in calls}
    return len(answers) == 1 and None not in answers and all(call.read_only for call in calls)
