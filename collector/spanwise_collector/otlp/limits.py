"""How much of a span is kept, where somebody wants less than what fits into a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from spanwise_collector.otlp.nesting import NESTED, levels

Measure: TypeAlias = Callable[[pa.Array], pa.Array]

_SIZED: Final = ("string", "bytes", *NESTED)


class Cut(StrEnum):
    """Why something of a span was left out or changed; the span itself never is."""

    ATTRIBUTES = "attributes"  # those beyond the limit
    EVENTS = "events"
    LINKS = "links"
    LENGTH = "length"  # values that were shortened
    DEPTH = "depth"  # attributes that were nested too deep
    TEXT = "text"  # texts that were no UTF-8


_OVER: Final = "were over the limit and are left out"
_WORDS: Final = {
    Cut.LENGTH: "values were too long and are kept shortened",
    Cut.DEPTH: "attributes were nested too deep and are left out",
    Cut.TEXT: "texts were no UTF-8 and are kept with U+FFFD",
}


def words(cuts: Mapping[Cut, int]) -> list[str]:
    """What was cut, for the sender."""
    return [f"{number} {_WORDS.get(cut, f'{cut} {_OVER}')}" for cut, number in cuts.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanLimits:
    """Most attributes of a span, event or link, most events and links, bytes and levels of a value; 0 is no limit."""

    attributes: int = 0
    events: int = 0
    links: int = 0
    value_bytes: int = 0
    value_depth: int = 0

    def exceeded(self, spans: pa.StructArray) -> bool:
        """Whether anything in these spans (wire.py) must be cut."""
        if self == UNLIMITED:
            return False
        return (
            _over(self.events, spans.field("events"), pc.list_value_length)
            or _over(self.links, spans.field("links"), pc.list_value_length)
            or any(map(self._exceeded, _lists(spans)))
        )

    def _exceeded(self, attributes: pa.ListArray) -> bool:
        values = attributes.flatten().field("value")
        return (
            _over(self.attributes, attributes, pc.list_value_length)
            or any(_over(self.value_bytes, values.field(member), pc.binary_length) for member in _SIZED)
            or any(_over(self.value_depth, values.field(member), _levels(member)) for member in NESTED)
        )


UNLIMITED: Final = SpanLimits()


def _lists(spans: pa.StructArray) -> list[pa.ListArray]:
    holders = (spans, spans.field("events").flatten(), spans.field("links").flatten())
    return [each.field("attributes") for each in holders]


def _over(limit: int, values: pa.Array, measure: Measure) -> bool:
    return bool(limit) and (pc.max(measure(values)).as_py() or 0) > limit


def _levels(member: str) -> Measure:
    def measure(bodies: pa.BinaryArray) -> pa.Int64Array:
        return pa.array([levels(body, member) for body in bodies.drop_null().unique().to_pylist()], pa.int64())

    return measure
