"""What a rule found: the cause's spans, and what removing it would save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from spanwise.stages import Stage
from spanwise_collector.span import SpanKey


class SavingKind(StrEnum):
    """How sure a saving is."""

    EXACT = "exact"  # arithmetic or replay on the conversation's own spans
    MODELLED = "modelled"  # a price per token, or a comparison, from own calls
    EXTERNAL = "external"  # an effect measured elsewhere: a range from zero, no promise
    NONE = "none"  # no latency claim


@dataclass(frozen=True, slots=True)
class Saving:
    """Time that would be saved, in ns: ``0 <= low <= expected <= high``."""

    low_ns: int
    expected_ns: int
    high_ns: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A span that shows the cause, its ns, and what is to be seen there; the key is empty where no span ran."""

    span: SpanKey
    ns: int
    what: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that holds for a conversation; ``saving`` is None exactly when the kind is none.

    ``caveats`` are what this conversation's own spans leave open, in words.
    """

    rule: str
    stage: Stage | None
    kind: SavingKind
    saving: Saving | None
    evidence: Sequence[Evidence]
    caveats: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to settle before any saving is believed."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Advice:
    """Findings, most worthwhile first, and the notices that qualify them."""

    findings: Sequence[Finding]
    notices: Sequence[Notice]
