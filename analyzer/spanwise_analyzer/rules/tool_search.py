"""The catalogue is large and differs between requests, or the model asked for a tool that is not there."""

from __future__ import annotations

from spanwise import semconv
from spanwise_analyzer.rules import book, catalogue
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "tool-search"


def find(view: View) -> Finding | None:
    """No latency claim: the search costs a round, what it may bring is selection and tokens."""
    calls = [call for call in view.model_calls if catalogue.count(call) >= book.limit(RULE, "tools")]
    if not calls or not (_varies(calls) or any(_chose_wrongly(call) for call in calls)):
        return None
    evidence = [Evidence(call.key, view.owned([call.node]), _words(call)) for call in calls]
    return Finding(RULE, view.stage([call.node for call in calls]), SavingKind.NONE, None, evidence)


def _varies(calls: list[ModelCall]) -> bool:
    seen = {(call.key_id, call.span.text(semconv.TOOLS_NAMES_HASH)) for call in calls}
    known = [digest for key_id, digest in seen if key_id and digest]
    return len(known) >= book.limit(RULE, "catalogues") and len({key_id for key_id, _ in seen}) == 1


def _chose_wrongly(call: ModelCall) -> bool:
    offered = set(call.span.texts(semconv.TOOLS_NAMES))
    return bool(offered) and not offered.issuperset(call.span.texts(semconv.TOOL_CALL_NAMES))


def _words(call: ModelCall) -> str:
    return f"{catalogue.count(call)} tools of about {catalogue.tokens(call)} tokens"
