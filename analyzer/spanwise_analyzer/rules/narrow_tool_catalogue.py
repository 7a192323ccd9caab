"""Many tools were described in every request, and most were not used."""

from __future__ import annotations

from spanwise import semconv
from spanwise_analyzer.rules import book, catalogue
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding

RULE = "narrow-tool-catalogue"
EFFECT = "fewer-tools"


def find(view: View) -> Finding | None:
    """Modelled by the fleet's price of a token where it is known, else the article's effect."""
    calls = [call for call in view.model_calls if _large(call) and _mostly_unused(call, view.used_tools)]
    evidence = [Evidence(call.key, view.owned([call.node]), _words(call, view.used_tools)) for call in calls]
    excess = [(call, catalogue.tokens(call) * (1 - _used_share(call, view.used_tools))) for call in calls]
    return catalogue.finding(RULE, view, excess, effect=EFFECT, evidence=evidence)


def _large(call: ModelCall) -> bool:
    if call.failed or catalogue.count(call) < book.limit(RULE, "tools"):
        return False
    tokens = catalogue.tokens(call)
    share = tokens / call.input if call.input else 0.0
    return tokens >= book.limit(RULE, "tokens") or share >= book.limit(RULE, "token_share")


def _mostly_unused(call: ModelCall, used: frozenset[str]) -> bool:
    return bool(call.span.texts(semconv.TOOLS_NAMES)) and _used_share(call, used) <= book.limit(RULE, "used_share")


def _used_share(call: ModelCall, used: frozenset[str]) -> float:
    names = set(call.span.texts(semconv.TOOLS_NAMES))
    return len(names & used) / len(names)


def _words(call: ModelCall, used: frozenset[str]) -> str:
    names = set(call.span.texts(semconv.TOOLS_NAMES))
    return f"{catalogue.count(call)} tools of about {catalogue.tokens(call)} tokens, {len(names & used)} used"
