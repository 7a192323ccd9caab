"""What is known from other conversations: prices per token, and how long each tool usually takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from spanwise_analyzer.rules.facts.model import Deployment
from spanwise_analyzer.rules.slope import Slope

Tool: TypeAlias = tuple[str | None, str | None]  # server, tool


@dataclass(frozen=True, slots=True)
class Norms:
    """Norms of a fleet; empty for one conversation on its own."""

    slopes: Mapping[Deployment, Slope] = field(default_factory=dict)
    tool_p99_ns: Mapping[Tool, int] = field(default_factory=dict)
