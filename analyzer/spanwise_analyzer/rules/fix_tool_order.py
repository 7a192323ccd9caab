"""The same tools were sent in another order, and the prompt cache missed."""

from __future__ import annotations

from spanwise import semconv
from spanwise_analyzer.rules import saving
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.prompt import cacheable_from, uncached
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "fix-tool-order"


def find(view: View) -> Finding | None:
    """External: the article's effect of a cached prefix on the calls that missed."""
    calls = [call for call in view.model_calls if reordered(view, call)]
    if not calls:
        return None
    nodes = [call.node for call in calls]
    parts = [saving.external(f"cache-{call.workload}", view.owned([call.node])) for call in calls]
    what = "the same tools as an earlier call, in another order; 0 tokens reported as cached"
    evidence = [Evidence(call.key, view.owned([call.node]), what) for call in calls]
    return Finding(RULE, view.stage(nodes), SavingKind.EXTERNAL, saving.total(parts), evidence)


def reordered(view: View, call: ModelCall) -> bool:
    """Whether an uncached call sent the tools of an earlier one in another order."""
    return uncached(call) and any(_shuffled(call, other) for other in cacheable_from(view, call))


def _shuffled(call: ModelCall, other: ModelCall) -> bool:
    names = [made.span.text(semconv.TOOLS_NAMES_HASH) for made in (call, other)]
    orders = [made.span.text(semconv.TOOLS_ORDER_HASH) for made in (call, other)]
    known = None not in names and None not in orders and call.key_id == other.key_id
    return known and names[0] == names[1] and orders[0] != orders[1]
