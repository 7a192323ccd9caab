"""Everything that decides how one conversation runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spanwise_demo.agent.behaviour import Behaviour
from spanwise_demo.agent.case import Task, Turn
from spanwise_demo.model.deployment import Fault
from spanwise_demo.servers.settings import Settings

OPENING = Turn(
    "I want to return order {order}, the article does not fit. My customer number is {customer}, the parcel {parcel}.",
    (Task.UNDERSTAND, Task.REVIEW),
)
CLOSING = Turn("Yes, please collect parcel {parcel} of order {order}.", (Task.ARRANGE, Task.SETTLE))


@dataclass(frozen=True, slots=True)
class Plan:
    """The agent's build, the customer's turns, how the two servers behave, and what the model service does."""

    turns: Sequence[Turn] = (OPENING, CLOSING)
    behaviour: Behaviour = field(default_factory=Behaviour)
    orders: Settings = field(default_factory=Settings)
    logistics: Settings = field(default_factory=Settings)
    faults: tuple[Fault, ...] = ()
    tiers: tuple[str, ...] = ("default", "priority")
    tools: Sequence[str] = ()
    photos: int = 0
    pages: int = 3
    reference_words: int = 0

    def but(self, **changes: Any) -> Plan:
        """The same plan with these fields changed."""
        return replace(self, **changes)

    def built(self, **changes: Any) -> Plan:
        """The same plan with the agent built otherwise."""
        return replace(self, behaviour=replace(self.behaviour, **changes))


Change = Callable[[Plan, float], Plan]


@dataclass(frozen=True, slots=True)
class Scenario:
    """``cause`` plants what is wrong, as strongly as told (1.0 is as strong as the articles report).

    ``planted`` is the rule that must name it first, None where nothing is wrong.
    """

    name: str
    planted: str | None
    base: Plan
    cause: Change

    def plan(self, strength: float = 1.0) -> Plan:
        """The plan with the cause."""
        return self.cause(self.base, strength)

    @property
    def twin(self) -> Plan:
        """The plan without it."""
        return self.base
