"""The service answered with another tier than was asked for."""

from __future__ import annotations

from spanwise import semconv
from spanwise_analyzer.rules import saving
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "service-tier"
_MEASURED = "priority"
_LEFT_TO_SERVICE = "auto"


def find(view: View) -> Finding | None:
    """External where priority was asked for, else no claim: whatever was measured is no evidence for that tier."""
    calls = [call for call in view.model_calls if _mismatch(call)]
    if not calls:
        return None
    stage = view.stage([call.node for call in calls])
    evidence = [Evidence(call.key, view.owned([call.node]), _words(call)) for call in calls]
    parts = [saving.external(f"priority-{call.workload}", view.owned([call.node])) for call in calls if _measured(call)]
    kind = SavingKind.EXTERNAL if parts else SavingKind.NONE
    return Finding(RULE, stage, kind, saving.total(parts) if parts else None, evidence)


def _mismatch(call: ModelCall) -> bool:
    asked = call.span.text(semconv.OPENAI_REQUEST_SERVICE_TIER)
    given = call.span.text(semconv.OPENAI_RESPONSE_SERVICE_TIER)
    return asked is not None and given is not None and asked not in {given, _LEFT_TO_SERVICE}


def _measured(call: ModelCall) -> bool:
    return call.span.text(semconv.OPENAI_REQUEST_SERVICE_TIER) == _MEASURED


def _words(call: ModelCall) -> str:
    asked = call.span.text(semconv.OPENAI_REQUEST_SERVICE_TIER)
    return f"asked for tier {asked}, got {call.span.text(semconv.OPENAI_RESPONSE_SERVICE_TIER)}"
