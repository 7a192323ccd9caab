"""One customer's case: what is asked, turn by turn, and the papers that belong to it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Task(StrEnum):
    """What the agent has to do within a turn."""

    UNDERSTAND = "understand_request"
    LOOK_UP = "look_up_order"
    PERMISSION = "check_permission"
    REVIEW = "review_case"
    ARRANGE = "arrange_return"
    SETTLE = "settle_return"
    SORT = "sort_request"
    WRITE = "write_reply"
    PROOFREAD = "proofread_reply"
    LOOK = "look_at_photos"
    READ = "read_invoice"
    PAGES = "read_statements"
    SCREEN = "screen_customer"


@dataclass(frozen=True, slots=True)
class Turn:
    """What the customer writes, and the tasks that answering takes; {order}, {customer}, {parcel} are filled in."""

    says: str
    tasks: Sequence[Task]


@dataclass(frozen=True, slots=True)
class Case:
    """Numbers of one customer's case, and the turns; sizes say how much paper there is."""

    conversation_id: str
    order: str
    customer: str
    parcel: str
    turns: Sequence[Turn]
    tools: Sequence[str] = ()
    photos: int = 1
    pages: int = 3
    reference_words: int = 0

    def said(self, turn: Turn) -> str:
        """What the customer writes in this turn."""
        return turn.says.format(order=self.order, customer=self.customer, parcel=self.parcel)


def numbers(chance: random.Random) -> dict[str, str]:
    """Order, customer and parcel numbers of a new case."""
    return {
        "order": f"R-{chance.randrange(10**5, 10**6)}",
        "customer": f"C-{chance.randrange(10**4, 10**5)}",
        "parcel": f"TRK{chance.randrange(10**7, 10**8)}",
    }
