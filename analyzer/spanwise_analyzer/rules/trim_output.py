"""The model wrote more than was used, or ran into its limit."""

from __future__ import annotations

from collections.abc import Iterator

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.rules import book, pace, saving
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, Saving, SavingKind

RULE = "trim-output"
_LENGTH = "length"
_EFFECTS = {"text": "concise-text", "image": "concise-image"}


def find(view: View) -> Finding | None:
    """Modelled: the unused tokens at the call's own pace of writing; else the article's effect on the call."""
    if not _writing_matters(view.ledger, view):
        return None
    unused = [(call, tokens) for call, tokens in _unused(view) if _counts(call)]
    savings = [(call, tokens, *_saving(view, call, tokens)) for call, tokens in unused]
    if not savings:
        return None
    kinds = {kind for *_, kind, _ in savings}
    kind = SavingKind.MODELLED if SavingKind.MODELLED in kinds else SavingKind.EXTERNAL
    evidence = [_evidence(view, call, tokens) for call, tokens, *_ in savings]
    parts = [part for *_, found, part in savings if found is kind]
    return Finding(RULE, view.stage([call.node for call, *_ in savings]), kind, saving.total(parts), evidence)


def _writing_matters(ledger: Ledger, view: View) -> bool:
    least = book.limit(RULE, "call_output_tokens")
    whole = [call.node for call in view.model_calls if (call.output or 0) >= least]
    written = ledger.stage_ns(Stage.MODEL_GENERATE) + view.owned(whole, Stage.MODEL_CALL)
    return ledger.share(written) >= book.limit(RULE, "generate_share")


def _unused(view: View) -> Iterator[tuple[ModelCall, int | None]]:
    """Calls with the number of unused tokens, None where the answer was cut off and its use is unknown."""
    judged = dict(_judged(view))
    for call in view.model_calls:
        consumed = judged.get(call.key)
        if consumed is not None and call.output and consumed / call.output < book.limit(RULE, "consumed_ratio"):
            yield call, call.output - consumed
        elif consumed is None and _LENGTH in call.finishes:
            yield call, None


def _judged(view: View) -> Iterator[tuple[tuple[str, str], int]]:
    """The answering call below each span that says how much of the answer was used."""
    for node in view.nodes:
        consumed = node.span.integer(semconv.OUTPUT_CONSUMED_TOKENS) if node.span else None
        if consumed is not None:
            below = {inner.key for inner in node.walk()}
            answers = [call for call in view.model_calls if call.key in below and not call.wants_tools]
            yield from ((call.key, consumed) for call in answers[-1:])


def _counts(call: ModelCall) -> bool:
    reasoning = call.span.integer(semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS) or 0
    return (
        not call.failed
        and not call.wants_tools
        and reasoning <= book.limit(RULE, "reasoning_ratio") * (call.output or 0)
    )


def _saving(view: View, call: ModelCall, tokens: int | None) -> tuple[SavingKind, Saving]:
    seen = pace.writing(call, view)
    if tokens is None or seen is None:
        effect = _EFFECTS.get(call.workload, _EFFECTS["text"])
        return SavingKind.EXTERNAL, saving.external(effect, view.owned([call.node]))
    bound = view.owned([call.node], Stage.MODEL_GENERATE, Stage.MODEL_CALL)
    least, expected, most = (min(bound, tokens * each) for each in (seen.low, seen.expected, seen.high))
    return SavingKind.MODELLED, saving.ranged(least, expected, most)


def _evidence(view: View, call: ModelCall, tokens: int | None) -> Evidence:
    ns = view.owned([call.node], Stage.MODEL_GENERATE, Stage.MODEL_CALL)
    if tokens is None:
        return Evidence(call.key, ns, f"the answer of {call.output} tokens was cut off at its limit")
    return Evidence(call.key, ns, f"{tokens} of {call.output} output tokens were not used")
