"""A long prompt came again, and the service reported that nothing of it was cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.model import Block, ModelCall
from spanwise_analyzer.rules.facts.prompt import cacheable_from, minimum, uncached
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, Saving, SavingKind
from spanwise_analyzer.rules.fix_tool_order import reordered

RULE = "stabilise-prompt-prefix"
_FIXED = frozenset({"tools", "instructions", "system", "developer"})


@dataclass(frozen=True, slots=True)
class Miss:
    """A call that could have been read from the cache: tokens it shares with an earlier one, and what broke that."""

    call: ModelCall
    shared: int
    breaker: Block | None


def find(view: View) -> Finding | None:
    """Modelled by the fleet's prices where they are known, else the article's effect for that workload."""
    misses = [miss for call in view.model_calls if (miss := _miss(view, call)) and not reordered(view, call)]
    if not misses:
        return None
    modelled = [_modelled(view, miss) for miss in misses]
    known = [found for found in modelled if found]
    kind = SavingKind.MODELLED if len(known) == len(misses) else SavingKind.EXTERNAL
    parts = known if kind is SavingKind.MODELLED else [_external(view, miss.call) for miss in misses]
    nodes = [miss.call.node for miss in misses]
    evidence = [Evidence(miss.call.key, view.owned([miss.call.node]), _words(miss)) for miss in misses]
    return Finding(RULE, view.stage(nodes), kind, saving.total(parts), evidence, _caveats(misses))


def _miss(view: View, call: ModelCall) -> Miss | None:
    if not uncached(call) or not call.blocks:
        return None
    alike = [other for other in cacheable_from(view, call) if other.blocks and other.key_id == call.key_id]
    found = [_compared(call, other) for other in alike]
    best = max(found, key=lambda miss: miss.shared, default=None)
    return best if best and best.shared >= minimum() else None


def _compared(call: ModelCall, earlier: ModelCall) -> Miss:
    """How much of the prompt is the earlier one's, counting blocks that were only edited."""
    pairs = list(zip(call.blocks, earlier.blocks, strict=False))
    common = list(takewhile(lambda pair: _alike(*pair), pairs))
    edited = next((new for new, old in common if new.digest != old.digest), None)
    return Miss(call, sum(new.tokens for new, _ in common), edited if edited and _inside(call.blocks, edited) else None)


def _alike(new: Block, old: Block) -> bool:
    if new.kind != old.kind:
        return False
    # A question differs from another question; instructions of one size are the same text with something changed.
    edited = abs(new.tokens - old.tokens) <= book.limit(RULE, "edited_ratio") * old.tokens
    return new.digest == old.digest or (new.kind in _FIXED and edited)


def _inside(blocks: Sequence[Block], breaker: Block) -> bool:
    before = sum(block.tokens for block in takewhile(lambda block: block is not breaker, blocks))
    return before < minimum()


def _modelled(view: View, miss: Miss) -> Saving | None:
    slope = view.norms.slopes.get(miss.call.deployment)
    if slope is None:
        return None
    bound = view.owned([miss.call.node])
    low = miss.shared * (slope.uncached.low - slope.cached.high)
    middle = miss.shared * (slope.uncached.expected - slope.cached.expected)
    return saving.ranged(min(low, bound), min(middle, bound), min(miss.shared * slope.uncached.high, bound))


def _external(view: View, call: ModelCall) -> Saving:
    return saving.external(f"cache-{call.workload}", view.owned([call.node]))


def _words(miss: Miss) -> str:
    said = f"{miss.shared} tokens shared with an earlier call, 0 reported as cached"
    return said + (f"; the {miss.breaker.kind} block changed" if miss.breaker else "")


def _caveats(misses: Sequence[Miss]) -> tuple[str, ...]:
    doubtful = {"file", "tools"} & {miss.call.workload for miss in misses}
    return ("The article saw no clear gain for file and tool workloads: test it.",) if doubtful else ()
