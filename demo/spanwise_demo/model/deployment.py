"""One deployment of the model: its latency, quota, tiers and state."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from spanwise_demo.model.ask import Ask
from spanwise_demo.model.latency import Latency, Pace, pace
from spanwise_demo.model.prefix import PrefixCache
from spanwise_demo.model.prompt import prompt


@dataclass(frozen=True, slots=True)
class Fault:
    """From the ``at``-th request on (counted from 1), ``times`` requests are refused with ``status``."""

    at: int
    times: int = 1
    status: int = 429
    retry_after_ms: int = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """What a deployment is created with."""

    seed: int = 0
    latency: Latency = field(default_factory=Latency)
    faults: tuple[Fault, ...] = ()
    tiers: tuple[str, ...] = ("default", "priority")

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Settings:
        """Settings from JSON; ValueError names an unknown key."""
        given = dict(body)
        if unknown := given.keys() - {item.name for item in fields(cls)}:
            raise ValueError(f"unknown settings {sorted(unknown)}")
        if "latency" in given:
            given["latency"] = Latency(**given["latency"])
        given["faults"] = tuple(Fault(**fault) for fault in given.get("faults", ()))
        if "tiers" in given:
            given["tiers"] = tuple(given["tiers"])
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Admission:
    """An accepted request: when its answer comes, what it cost, and the tier that really served it."""

    pace: Pace
    tier: str
    input_tokens: int
    cached_tokens: int


class Deployment:
    """State behind one base URL: the prompt cache, the request count, the chance of the day."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.requests = 0
        self._cache = PrefixCache()
        self._chance = random.Random(settings.seed)  # noqa: S311 - reproducible jitter, not a secret

    def fault(self) -> Fault | None:
        """Counts the request; the fault that refuses it, if one does."""
        self.requests += 1
        hits = (fault for fault in self.settings.faults if 0 <= self.requests - fault.at < fault.times)
        return next(hits, None)

    def admit(self, ask: Ask) -> Admission:
        """Looks the prompt up in the cache and says when the answer comes."""
        seen = prompt(ask)
        cached = self._cache.hit(seen.content)
        tier = self._tier(ask.tier)
        speed = pace(self.settings.latency, seen, cached=cached, priority=tier == "priority", chance=self._chance)
        return Admission(speed, tier, seen.tokens, cached)

    def _tier(self, asked: str) -> str:
        return asked if asked in self.settings.tiers else "default"
