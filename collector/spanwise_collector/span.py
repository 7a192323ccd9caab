"""The span as the store hands it out: OTLP values with ids in hex and attributes in the conventions' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

Value: TypeAlias = "str | bool | int | float | bytes | Sequence[Value] | Mapping[str, Value] | None"
Attributes: TypeAlias = Mapping[str, Value]
SpanKey: TypeAlias = tuple[str, str]  # trace id, span id

_DIGITS = 20  # of the largest 64-bit integer; longer texts are no counts, and Python refuses very long ones


class Kind(IntEnum):
    """OTLP span kind."""

    UNSPECIFIED = 0
    INTERNAL = 1
    SERVER = 2
    CLIENT = 3
    PRODUCER = 4
    CONSUMER = 5


class Status(IntEnum):
    """OTLP status code."""

    UNSET = 0
    OK = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at one instant of a span."""

    time_ns: int
    name: str
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Link:
    """A reference from one span to another, possibly in another trace."""

    trace_id: str
    span_id: str
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """One span.

    Ids are lower-case hex (32 and 16 digits; ``parent_id`` is empty for a root). Times are ns since the epoch;
    ``end_ns`` is 0 while the span is unfinished. ``process`` identifies the clock: spans of one process share it.
    ``attributes`` carry canonical names (see ``spanwise.semconv``) beside the raw ones.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    kind: Kind = Kind.INTERNAL
    status: Status = Status.UNSET
    status_message: str = ""
    service: str = "unknown_service"
    process: str = ""
    scope: str = ""
    attributes: Attributes = field(default_factory=dict)
    events: Sequence[Event] = ()
    links: Sequence[Link] = ()
    resource: Attributes = field(default_factory=dict)
    scope_version: str = ""
    trace_state: str = ""
    flags: int = 0

    @property
    def key(self) -> SpanKey:
        """Trace id and span id: unique in the store."""
        return self.trace_id, self.span_id

    def text(self, name: str) -> str | None:
        """The attribute if it is a non-empty string."""
        value = self.attributes.get(name)
        return value if isinstance(value, str) and value else None

    def integer(self, name: str) -> int | None:
        """The attribute if it is a whole number (also one sent as a whole float or as digits)."""
        value = self.attributes.get(name)
        if isinstance(value, bool):
            return None
        if isinstance(value, float):
            return int(value) if value.is_integer() else None
        if isinstance(value, str):
            return int(value) if value.isdecimal() and len(value) <= _DIGITS else None
        return value if isinstance(value, int) else None

    def number(self, name: str) -> float | None:
        """The attribute if it is a finite number."""
        value = self.attributes.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value) if value - value == 0 else None

    def flag(self, name: str) -> bool | None:
        """The attribute if it is a boolean; None is *unknown*, never False."""
        value = self.attributes.get(name)
        return value if isinstance(value, bool) else None

    def texts(self, name: str) -> tuple[str, ...]:
        """The strings of a list attribute, in order; a single string counts as a list of one."""
        value = self.attributes.get(name)
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, Sequence) or isinstance(value, bytes):
            return ()
        return tuple(item for item in value if isinstance(item, str))
