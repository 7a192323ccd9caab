"""What tool definitions cost in a model call, and what fewer tokens of them would save."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.rules import saving
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, Saving, SavingKind


def count(call: ModelCall) -> int:
    """Tools in the request; 0 where it is not known."""
    return call.span.integer(semconv.TOOLS_COUNT) or 0


def tokens(call: ModelCall) -> int:
    """Estimated tokens of the tool definitions; 0 where they are not known."""
    return call.span.integer(semconv.TOOLS_TOKENS) or 0


def finding(
    rule: str, view: View, excess: Sequence[tuple[ModelCall, float]], *, effect: str, evidence: Sequence[Evidence]
) -> Finding | None:
    """The finding on calls that carry so many tokens too many; None where there are none."""
    if not excess:
        return None
    nodes = [call.node for call, _ in excess]
    stage = view.stage(nodes, Stage.MODEL_FIRST_TOKEN, Stage.MODEL_CALL) or view.stage(nodes)
    priced = [found for call, removed in excess if (found := _priced(view, call, removed))]
    if len(priced) == len(excess):
        return Finding(rule, stage, SavingKind.MODELLED, saving.total(priced), evidence)
    found = saving.external(effect, view.owned(nodes))
    return Finding(rule, stage, SavingKind.EXTERNAL, found, evidence)


def _priced(view: View, call: ModelCall, removed: float) -> Saving | None:
    """The definitions stand first in the prompt, so what is cached of it is cached of them first."""
    slope = view.norms.slopes.get(call.deployment)
    if slope is None or call.cached is None:
        return None
    fresh = removed * max(0, tokens(call) - call.cached) / tokens(call)
    kept = removed - fresh
    bound = view.owned([call.node], Stage.MODEL_FIRST_TOKEN, Stage.MODEL_CALL)
    low, middle, high = (
        min(bound, fresh * new + kept * max(0.0, old))
        for new, old in (
            (slope.uncached.low, slope.cached.low),
            (slope.uncached.expected, slope.cached.expected),
            (slope.uncached.high, slope.cached.high),
        )
    )
    return saving.ranged(low, middle, high)
