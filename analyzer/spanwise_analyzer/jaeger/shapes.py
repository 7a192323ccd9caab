"""Jaeger's older JSON form, field by field; times are in µs there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A tag, or a field of a log; large integers come as text and bytes in base64."""

    key: str
    type: str
    value: str | bool | int | float


@dataclass(frozen=True, slots=True)
class Log:
    """An event of a span; the time is in µs."""

    timestamp: int
    fields: Sequence[Field]


@dataclass(frozen=True, slots=True)
class Reference:
    """The parent (CHILD_OF) or a link (FOLLOWS_FROM)."""

    refType: str  # noqa: N815 - Jaeger's name, as below
    traceID: str  # noqa: N815
    spanID: str  # noqa: N815


@dataclass(frozen=True, slots=True)
class Span:
    """A span; times are in µs, lists are never null."""

    traceID: str  # noqa: N815
    spanID: str  # noqa: N815
    operationName: str  # noqa: N815
    references: Sequence[Reference]
    startTime: int  # noqa: N815
    duration: int
    tags: Sequence[Field]
    logs: Sequence[Log]
    processID: str  # noqa: N815
    warnings: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Process:
    """One resource; its service name is never empty."""

    serviceName: str  # noqa: N815
    tags: Sequence[Field]


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace; each span's processID is a key of ``processes``."""

    traceID: str  # noqa: N815
    spans: Sequence[Span]
    processes: dict[str, Process]
    warnings: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Error:
    """What went wrong."""

    code: int
    msg: str


@dataclass(frozen=True, slots=True)
class Envelope:
    """What every answer of the older API comes in."""

    data: Sequence[Trace] | Sequence[str] | None
    total: int = 0
    limit: int = 0
    offset: int = 0
    errors: Sequence[Error] | None = None
