"""How long the local model service takes, as one declared table."""

from __future__ import annotations

import random
from dataclasses import dataclass

from spanwise_demo.model.prompt import Prompt

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds per unit of work, of the order that a small hosted model shows; all of it real waiting.

    ``scale`` shortens everything alike so that ratios hold, ``factor`` is the weather of the day.
    """

    queue_ms: float = 340.0
    uncached_token_ms: float = 0.13
    cached_token_ms: float = 0.005
    output_token_ms: float = 7.0
    image_low_ms: float = 60.0
    image_tile_ms: float = 30.0
    pdf_page_ms: float = 55.0
    priority_factor: float = 0.6
    jitter: float = 0.06
    scale: float = 0.6
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Pace:
    """When one answer arrives: the wait for its first token, and the time between tokens, in ns."""

    first_ns: int
    token_ns: int

    def at(self, tokens: int) -> int:
        """Nanoseconds after the request's arrival at which this many tokens are out."""
        return self.first_ns + self.token_ns * max(tokens - 1, 0)


def pace(latency: Latency, prompt: Prompt, *, cached: int, priority: bool, chance: random.Random) -> Pace:
    """What the table says for this prompt, with the jitter that ``chance`` draws."""
    prefill = latency.uncached_token_ms * (prompt.tokens - cached) + latency.cached_token_ms * cached
    pictures = latency.image_low_ms * prompt.images + latency.image_tile_ms * prompt.tiles
    first = latency.queue_ms + prefill + pictures + latency.pdf_page_ms * prompt.pdf_pages
    speed = latency.scale * latency.factor * (latency.priority_factor if priority else 1.0)
    wobble = 1.0 + latency.jitter * chance.uniform(-1.0, 1.0)
    return Pace(round(first * speed * wobble * _NS_PER_MS), round(latency.output_token_ms * speed * _NS_PER_MS))
