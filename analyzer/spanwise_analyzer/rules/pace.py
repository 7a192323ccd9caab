"""What tokens cost within one conversation, where there is no fleet to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from spanwise_analyzer.rules import book
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.view import View


@dataclass(frozen=True, slots=True)
class Pace:
    """Time per token in ns: least, middle and most that the conversation's own calls show."""

    low: float
    expected: float
    high: float


def writing(call: ModelCall, view: View) -> Pace | None:
    """Time per output token: this call's own, with the range over the calls of its deployment."""
    least = book.constant("pace", "min_output_tokens")
    alike = [other for other in view.model_calls if other.deployment == call.deployment and not other.failed]
    own = call.tpot_ns(least)
    if own is None:
        return _unstreamed(call, alike)
    seen = [pace for other in alike if (pace := other.tpot_ns(least)) is not None]
    return Pace(min(seen), own, max(seen))


def _unstreamed(call: ModelCall, alike: Sequence[ModelCall]) -> Pace | None:
    """From comparing whole calls: one that writes clearly more takes so much longer."""
    gap = book.constant("pace", "min_output_gap")
    pairs = [
        (call.node.ns - other.node.ns) / (call.output - other.output)
        for other in alike
        if call.output is not None and other.output is not None and call.output - other.output >= gap
    ]
    return _range(pairs)


def reading(call: ModelCall, others: Sequence[ModelCall]) -> Pace | None:
    """Time per new input token, from comparing this call with clearly smaller ones of its deployment."""
    gap = book.constant("pace", "min_token_gap")
    step = 1 + len(others) // int(book.constant("pace", "max_compared"))
    pairs = [
        (call.reading_ns - other.reading_ns) / (call.load - other.load)
        for other in others[::step]
        if call.load is not None and other.load is not None and call.load - other.load >= gap
        if other.deployment == call.deployment and not other.failed and other is not call
    ]
    return _range(pairs)


def _range(paces: Sequence[float]) -> Pace | None:
    return Pace(max(0.0, min(paces)), max(0.0, median(paces)), max(0.0, *paces)) if paces else None
