"""What a module for one format has to give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spanwise_collector.interchange.piece import Body


@dataclass(frozen=True, slots=True)
class Format:
    """How a frame (framing.py) of this format is told from others by its content, and its trace requests.

    ``fits`` should look for what the format must have and cost little; ``bodies`` may raise Malformed, naming the
    field, and gives nothing for a frame without spans.
    """

    name: str
    fits: Callable[[bytes], bool]
    bodies: Callable[[bytes], Iterator[Body]]
