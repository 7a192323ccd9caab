"""What may differ between two runs of the same plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weather:
    """Seed of all made-up numbers and jitter, factors on latencies and on the cause, and one server more or not."""

    seed: int = 1
    latency: float = 1.0
    strength: float = 1.0
    extra_server: bool = False
