"""Rows that the analyzer stores per conversation, and what can be asked of them; all times are ns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Sort: TypeAlias = Literal["started", "active"]
Dimension: TypeAlias = Literal["stage", "model", "tool", "server", "service", "agent"]
DIMENSIONS: tuple[Dimension, ...] = ("stage", "model", "tool", "server", "service", "agent")


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One stretch of a conversation's wall clock, ``[start_ns, end_ns)``, and who owned it."""

    turn: int | None
    trace_id: str
    span_id: str
    stage: str
    start_ns: int
    end_ns: int
    model: str | None = None
    tool: str | None = None
    server: str | None = None
    agent: str | None = None
    service: str | None = None


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One conversation as computed from all batches up to ``seq``; ``answer`` is the API's JSON."""

    conversation_id: str
    seq: int
    service: str
    agent: str | None
    started_ns: int
    ended_ns: int
    active_ns: int
    turns: int
    status: str
    dominant_stage: str | None
    dominant_ns: int
    recommendation: str | None
    models: Sequence[str] = ()
    tools: Sequence[str] = ()
    servers: Sequence[str] = ()
    answer: bytes = b""
    segments: Sequence[SegmentRow] = ()


@dataclass(frozen=True, slots=True)
class StoredLedger:
    """A stored answer and the batch sequence up to which it holds.

    It is ``frozen`` when spans that it was computed from are deleted: it is the last one.
    """

    conversation_id: str
    seq: int
    answer: bytes
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """Batches from ``first`` to ``last``, both included, and the spans in them."""

    first: int
    last: int
    spans: int


@dataclass(frozen=True, slots=True)
class LedgerSummary:
    """One line of the conversation list."""

    conversation_id: str
    seq: int
    service: str
    agent: str | None
    started_ns: int
    ended_ns: int
    active_ns: int
    turns: int
    status: str
    dominant_stage: str | None
    dominant_ns: int
    recommendation: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFilter:
    """Which conversations: started in ``[since_ns, until_ns)``; ``stage`` is the dominant one in a list of
    conversations and the segment's own in an attribution. None means *any*.
    """

    since_ns: int | None = None
    until_ns: int | None = None
    service: str | None = None
    agent: str | None = None
    model: str | None = None
    tool: str | None = None
    server: str | None = None
    stage: str | None = None
    status: str | None = None
    min_active_ns: int | None = None

    @property
    def single(self) -> bool:
        """Whether something is asked that only single conversations know, not hours."""
        return self.status is not None or self.min_active_ns is not None


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """A page of the list, largest first; pass ``next_cursor`` to get the following one, None after the last."""

    rows: Sequence[LedgerSummary]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class AttributionRow:
    """Active time of one group over all its conversations.

    ``group`` maps each dimension asked for to its value, None where it does not apply. ``share`` is of the active time
    of all rows. Percentiles are over the group's ns per conversation that has the group, interpolated linearly
    (numpy's default, DuckDB's ``quantile_cont``). Where some of the conversations are ``estimated`` from hours,
    percentiles are within 2 %, and a conversation counts once for each hour, service and agent.
    """

    group: Mapping[str, str | None]
    ns: int
    share: float
    p50_ns: float
    p95_ns: float
    p99_ns: float
    conversations: int
    segments: int
    estimated: bool = False
