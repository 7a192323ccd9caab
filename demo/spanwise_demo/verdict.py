"""What the server's answer says of one scenario, beside what was planted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spanwise_demo.scenarios.plan import Scenario


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row: the conversation, its long pole, the first recommendation, and whether that is the planted cause.

    ``saving_ms`` has low, expected and high, or is None where no latency is claimed; ``rules`` are all of them.
    """

    scenario: str
    conversation_id: str
    active_ms: float
    dominant: str | None
    share: float
    rule: str | None
    title: str | None
    kind: str | None
    saving_ms: Mapping[str, float] | None
    rules: tuple[str, ...]
    planted: str | None

    @property
    def as_planted(self) -> bool:
        """Whether the first recommendation is the planted cause, or there is none where none was planted."""
        return self.rule == self.planted

    def document(self) -> dict[str, Any]:
        """As one entry of ``spanwise demo --json``."""
        return {
            "scenario": self.scenario,
            "conversation_id": self.conversation_id,
            "active_ms": self.active_ms,
            "dominant": self.dominant,
            "share": self.share,
            "rule": self.rule,
            "saving_ms": dict(self.saving_ms) if self.saving_ms else None,
            "planted": self.planted,
            "as_planted": self.as_planted,
        }


def verdict(scenario: Scenario, answer: Mapping[str, Any]) -> Verdict:
    """From ``GET /api/v1/conversations/{id}``."""
    recommendations = answer["recommendations"]
    first: Mapping[str, Any] = recommendations[0] if recommendations else {}
    pole: Mapping[str, Any] = answer["dominant"] or {}
    return Verdict(
        scenario=scenario.name,
        conversation_id=answer["conversation_id"],
        active_ms=answer["active_ms"],
        dominant=pole.get("stage"),
        share=pole.get("share", 0.0),
        rule=first.get("rule"),
        title=first.get("title"),
        kind=first.get("kind"),
        saving_ms=first.get("saving_ms"),
        rules=tuple(found["rule"] for found in recommendations),
        planted=scenario.planted,
    )
