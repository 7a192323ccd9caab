"""What the HTTP API says, field by field: the only types that are serialised; milliseconds live only here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

NS_PER_MS = 1_000_000


def ms(ns: int) -> float:
    """Ns / 10⁶, unrounded."""
    return ns / NS_PER_MS


@dataclass(frozen=True, slots=True)
class Dominant:
    """The long pole: the largest active stage."""

    stage: str
    group: str
    ms: float
    share: float


@dataclass(frozen=True, slots=True)
class Row:
    """One conversation of the list."""

    conversation_id: str
    service: str
    agent: str | None
    started_at: str
    turns: int
    status: str
    active_ms: float
    dominant: Dominant | None
    recommendation: str | None


@dataclass(frozen=True, slots=True)
class Conversations:
    """One page of the list; ``next_cursor`` is null on the last page."""

    conversations: Sequence[Row]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn; its offset is relative to ``started_at`` of the conversation."""

    turn: int
    trace_id: str
    offset_ms: float
    active_ms: float
    ttft_ms: float | None


@dataclass(frozen=True, slots=True)
class StageRow:
    """One active stage: owned time, summed durations, equal split of parallel time, spans that owned some."""

    stage: str
    group: str
    ms: float
    share: float
    busy_ms: float
    equal_split_ms: float
    spans: int


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Input tokens of one source; ``basis`` is measured or estimated."""

    source: str
    server: str | None
    tool: str | None
    tokens: int
    basis: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """The token bill; null is not reported, never zero."""

    input: int | None
    cached: int | None
    output: int | None
    by_source: Sequence[SourceRow]


@dataclass(frozen=True, slots=True)
class SavingRow:
    """Expected saving of a recommendation with its range, in ms."""

    low: float
    expected: float
    high: float


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """A span that shows the cause, its milliseconds, and what is to be seen there; ids are null where no span ran."""

    trace_id: str | None
    span_id: str | None
    ms: float
    what: str


@dataclass(frozen=True, slots=True)
class RecommendationRow:
    """What to change, what that saves and how sure that is, and what must still hold afterwards."""

    rule: str
    stage: str | None
    priority: str
    kind: str
    title: str
    advice: str
    saving_ms: SavingRow | None
    share_of_active: float | None
    evidence: Sequence[EvidenceRow]
    must_still_hold: str
    not_when: str
    verify: str
    source: str
    caveats: Sequence[str]


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """Something to settle before any saving is believed."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """Something odd about the spans that the account worked around."""

    code: str
    trace_id: str | None
    span_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything about one conversation; ``edition`` names the code and rules that computed it."""

    conversation_id: str
    service: str
    agent: str | None
    started_at: str
    boundary: str
    status: str
    turns: Sequence[TurnRow]
    traces: Sequence[str]
    active_ms: float
    idle_ms: float
    wait_ms: float
    stages: Sequence[StageRow]
    dominant: Dominant | None
    tokens: Tokens
    recommendations: Sequence[RecommendationRow]
    notices: Sequence[NoticeRow]
    problems: Sequence[ProblemRow]
    edition: str


@dataclass(frozen=True, slots=True)
class SegmentShape:
    """An interval of the conversation with its one stage; the span is null where nobody owned it."""

    start_ms: float
    end_ms: float
    stage: str
    group: str
    was: str | None
    turn: int | None
    trace_id: str | None
    span_id: str | None
    name: str | None
    service: str | None
    critical: bool


@dataclass(frozen=True, slots=True)
class SpanShape:
    """A span of the conversation as it ran, whoever owned the instant; ``depth`` is its level in the tree."""

    start_ms: float
    end_ms: float
    depth: int
    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    service: str
    owned_ms: float
    error: bool
    background: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """Segments in order, tiling the conversation, and the spans behind them; offsets from ``started_at``."""

    conversation_id: str
    started_at: str
    duration_ms: float
    segments: Sequence[SegmentShape]
    spans: Sequence[SpanShape]


@dataclass(frozen=True, slots=True)
class AttributionGroup:
    """Owned time of one group of segments; percentiles are over the conversations that have any of it.

    Dimensions that were not asked for are null; so is one that does not apply (a model outside of model calls).
    """

    stage: str | None
    group: str | None
    model: str | None
    tool: str | None
    server: str | None
    service: str | None
    agent: str | None
    ms: float
    share: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    conversations: int
    segments: int


@dataclass(frozen=True, slots=True)
class Attribution:
    """Where the active time of many conversations went; the groups' ``ms`` sum to ``active_ms``.

    ``basis`` is exact, or estimated where raw spans are gone and hours take their place: times are exact still,
    percentiles and counts of conversations are as the notice says.
    """

    group_by: Sequence[str]
    active_ms: float
    groups: Sequence[AttributionGroup]
    basis: str
    notices: Sequence[NoticeRow]


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A 95 % interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FleetRow:
    """One rule over many conversations: where it was found and the time that its change would save there.

    ``reach`` is the interval of the share of conversations, ``saving_ms`` the sum over all of them and ``p50_ms`` the
    middle one's. Intervals of time are null under 20 conversations; ``observation`` marks fewer than 8.
    """

    rule: str
    title: str
    advice: str
    priority: str
    kind: str
    conversations: int
    of: int
    reach: IntervalRow
    observation: bool
    saving_ms: SavingRow | None
    saving_interval_ms: IntervalRow | None
    p50_ms: float | None
    p50_interval_ms: IntervalRow | None
    examples: Sequence[str]
    must_still_hold: str
    source: str


@dataclass(frozen=True, slots=True)
class Recommendations:
    """Rules over the fleet, ranked by time saved."""

    conversations: int
    recommendations: Sequence[FleetRow]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a query's answer; ``type`` is the engine's name for it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """What a query found, rows in the order of the columns; ``truncated`` tells that there was more."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """Whether the process, or what it needs, works; ``checks`` names each with null or the reason against it."""

    status: str
    checks: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Parameter:
    """What was wrong with one parameter."""

    parameter: str
    detail: str


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as RFC 9457 wants it; ``errors`` lists the parameters at fault."""

    type: str
    title: str
    status: int
    detail: str
    errors: Sequence[Parameter] = ()


def dump(shape: Any) -> bytes:
    """JSON of a shape in UTF-8; the order of keys is that of the fields."""
    return _adapter(type(shape)).dump_json(shape)


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]
