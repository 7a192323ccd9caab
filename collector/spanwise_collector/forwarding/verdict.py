"""What a target said to one request, by the rules of OTLP for those who send."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Final

LONGEST_WAIT_S: Final = 300.0


class Outcome(Enum):
    """Taken; not now; never; or nobody answered."""

    TAKEN = "taken"
    BUSY = "busy"
    REFUSED = "refused"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome, why, and how many seconds the target wants to be left alone, None if it did not say."""

    outcome: Outcome
    reason: str = ""
    after_s: float | None = None


TAKEN: Final = Verdict(Outcome.TAKEN)


def retry_after_s(text: str | None) -> float | None:
    """Seconds from a Retry-After header, which holds a number of them or a date; None where it holds neither."""
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        return bounded(float(int(text)))
    with contextlib.suppress(ValueError, OverflowError):
        then = parsedate_to_datetime(text)
        return bounded((then.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    return None


def bounded(seconds: float) -> float:
    """Never at once, since a target that says 0 would be asked without end; never for hours."""
    return min(LONGEST_WAIT_S, max(0.1, seconds))
