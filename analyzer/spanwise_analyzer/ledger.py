"""The account of one conversation: every instant has one owner and one stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spanwise.stages import Stage
from spanwise_analyzer.tree import Tree
from spanwise_collector.span import Span, SpanKey


@dataclass(frozen=True, slots=True)
class Segment:
    """An interval ``[start_ns, end_ns)`` that one span owns; nobody owns it when ``span`` is None.

    ``was`` is the stage before relabelling as retry time; times are skew-corrected.
    """

    start_ns: int
    end_ns: int
    stage: Stage
    span: Span | None = None
    turn: int | None = None
    was: Stage | None = None

    @property
    def ns(self) -> int:
        """Length in ns, always > 0."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the conversation: from its root span's start to its end."""

    number: int
    trace_id: str
    root: Span
    start_ns: int
    end_ns: int
    active_ns: int
    ttft_ns: int | None


@dataclass(frozen=True, slots=True)
class StageTime:
    """What one stage took: owned time, summed durations, and the equal split of parallel time, in ns."""

    stage: Stage
    ns: int
    busy_ns: int
    equal_split_ns: int
    spans: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something odd about the input that the account had to work around; never an error."""

    code: str
    text: str
    span: SpanKey | None = None


@dataclass(frozen=True, slots=True)
class TokenSource:
    """How many input tokens came from one source, and whether that was measured or estimated."""

    source: str  # instructions, tool_definitions, history, tool_results, user
    tokens: int
    basis: str  # measured, estimated
    server: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class TokenBill:
    """Token counts of all model calls of a conversation; None is *not reported*, never zero."""

    input: int | None = None
    cached: int | None = None
    output: int | None = None
    by_source: Sequence[TokenSource] = ()


@dataclass(frozen=True, slots=True)
class Ledger:
    """The whole account. Active stages sum to ``active_ns`` exactly; ``end_ns - start_ns`` is active + idle + wait."""

    conversation_id: str
    service: str
    status: str  # ok, error, open
    start_ns: int
    end_ns: int
    active_ns: int
    idle_ns: int
    wait_ns: int
    turns: Sequence[Turn]
    segments: Sequence[Segment]
    stages: Sequence[StageTime]  # active ones, by owned time, ties in the order of Stage
    tokens: TokenBill
    tree: Tree
    problems: Sequence[Problem] = ()
    owned: Mapping[SpanKey, int] = field(default_factory=dict)  # ns owned by each span

    @property
    def dominant(self) -> StageTime | None:
        """The largest active stage; None when nothing took time."""
        return self.stages[0] if self.stages else None

    def stage_ns(self, *stages: Stage) -> int:
        """Owned time of these stages, in ns."""
        return sum(row.ns for row in self.stages if row.stage in stages)

    def share(self, ns: int) -> float:
        """What part of the active time these ns are."""
        return ns / self.active_ns if self.active_ns else 0.0

    def owned_by(self, spans: Iterable[SpanKey]) -> int:
        """Owned time of these spans, in ns."""
        return sum(self.owned.get(key, 0) for key in spans)
