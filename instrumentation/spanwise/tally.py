"""What became of the spans that were given to an outlet: each is counted once."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.shipment import Outcome


@dataclass(slots=True)
class Tally:
    """Counters, all of which only grow; the lock is the owner's."""

    given: int = 0
    sent: int = 0
    dropped: int = 0  # the queue was full
    refused: int = 0
    unwritable: int = 0

    @property
    def lost(self) -> int:
        """Will not be delivered any more."""
        return self.dropped + self.refused + self.unwritable

    @property
    def settled(self) -> int:
        """Nothing more will happen to them."""
        return self.sent + self.lost

    @property
    def unsent(self) -> int:
        """Not delivered, whether they still wait or not."""
        return self.given - self.sent

    def put(self, dropped: int) -> None:
        """One more span, for which ``dropped`` others had to give way."""
        self.given += 1
        self.dropped += dropped

    def settle(self, number: int, outcome: Outcome) -> None:
        """A batch of ``number`` spans has come to its end."""
        self.sent += outcome.sent
        self.unwritable += outcome.unwritable
        self.refused += number - outcome.sent - outcome.unwritable

    def reason(self) -> str:
        """Why some were not delivered, in words for the log."""
        reasons = [f"{self.unwritable} of them could not be encoded"] if self.unwritable else []
        if self.refused or self.settled < self.given:  # then what was dropped had to wait for those
            reasons.append("the collector could not be reached, or did not take them")
        elif self.dropped:
            reasons.append("they ended faster than they could be sent")
        return "; ".join(reasons)
