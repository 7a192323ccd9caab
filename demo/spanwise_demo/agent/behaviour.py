"""How the agent was built: the choices that make the same conversation fast or slow."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Sessions(StrEnum):
    """When the session to the orders server is opened."""

    KEPT = "kept"
    FIRST_TASK = "first task"
    EACH_TASK = "each task"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Defaults are those of a well-built agent.

    ``protocol`` is the mode in which the logistics server is spoken to, and None keeps one session to it open;
    ``answer_words`` None means that nobody told the model how much to write; ``screening_ms`` is the time of a
    partner's screening library, ``screening_traced`` whether anybody marked it.
    """

    sessions: Sessions = Sessions.KEPT
    protocol: str | None = None
    relist: bool = False
    whole_catalogue: bool = False
    parallel_tool_calls: bool = True
    dispatch_together: bool = True
    answer_words: int = 55
    detailed_words: int | None = None
    marker_first: bool = False
    image_detail: str = "low"
    send_pdf: bool = False
    pages_together: bool = True
    tier: str | None = None
    remember: bool = True
    tool_attempts: int = 4
    screening_ms: float = 0.0
    screening_traced: bool = True
