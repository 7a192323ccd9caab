"""What a task of the agent works with, and what it brings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise_demo.agent.behaviour import Behaviour
from spanwise_demo.agent.case import Case
from spanwise_demo.agent.model import Messages, Model
from spanwise_demo.agent.papers import Papers
from spanwise_demo.agent.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class Work:
    """One turn at hand: the customer's words and everything the tasks need."""

    case: Case
    behaviour: Behaviour
    model: Model
    toolbox: Toolbox
    papers: Papers
    said: str
    history: Sequence[dict[str, str]] = ()

    def opening(self, *instructions: str) -> Messages:
        """Messages of a new request: instructions, what was said before, the customer's words."""
        system = [{"role": "system", "content": text} for text in instructions]
        return [*system, *self.history, {"role": "user", "content": self.said}]


@dataclass(frozen=True, slots=True)
class Done:
    """What a task brought: whether it is right, its words for the customer, how many of their tokens are used."""

    passed: bool
    text: str = ""
    consumed_tokens: int | None = None
