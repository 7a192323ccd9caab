"""What a module for one format has to give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from spanwise_collector.interchange.piece import Body, Fault


@dataclass(frozen=True, slots=True)
class Format:
    """How a frame (framing.py) of this format is told from others by its content, and its trace requests.

    ``fits`` should look for what the format must have and cost little; ``bodies`` may raise Malformed, naming the
    field, and gives nothing for a frame without spans.
    """

    name: str
    fits: Callable[[bytes], bool]
    bodies: Callable[[bytes], Iterator[Body]]


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """As ``Format``, for JSON that had to be parsed to be told; what cannot be read of it is a Fault."""

    name: str
    fits: Callable[[Any], bool]
    bodies: Callable[[Any], Iterator[Body | Fault]]


def keys(document: Any) -> frozenset[str]:
    """The keys of an object, or of the first object of a list."""
    first = document[0] if isinstance(document, list) and document else document
    return frozenset(first) if isinstance(first, dict) else frozenset()
