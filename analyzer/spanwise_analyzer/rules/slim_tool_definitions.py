"""The tool definitions are long for what they say."""

from __future__ import annotations

from spanwise_analyzer.rules import book, catalogue
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding

RULE = "slim-tool-definitions"
EFFECT = "minimal-descriptions"


def find(view: View) -> Finding | None:
    """Modelled by the fleet's price of a token where it is known, else the article's effect."""
    excess = [(call, _excess(call)) for call in view.model_calls if not call.failed and _verbose(call)]
    evidence = [Evidence(call.key, view.owned([call.node]), _words(call)) for call, _ in excess]
    return catalogue.finding(RULE, view, excess, effect=EFFECT, evidence=evidence)


def _verbose(call: ModelCall) -> bool:
    count = catalogue.count(call)
    if not count or catalogue.tokens(call) / count <= book.limit(RULE, "tokens_per_tool"):
        return False
    return _excess(call) >= book.limit(RULE, "min_excess_tokens")


def _excess(call: ModelCall) -> float:
    return catalogue.tokens(call) - book.limit(RULE, "target_tokens") * catalogue.count(call)


def _words(call: ModelCall) -> str:
    count, tokens = catalogue.count(call), catalogue.tokens(call)
    return f"{count} tools of about {tokens} tokens, {tokens / count:.0f} each"
