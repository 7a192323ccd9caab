"""What can be odd about a set of spans: one stable code and one sentence each."""

from __future__ import annotations

from enum import StrEnum


class Oddity(StrEnum):
    """Codes of ``Problem`` and of ``Node.flags``; the account works around each, none is an error."""

    END_BEFORE_START = "end-before-start"
    UNFINISHED = "unfinished"
    PARENT_CYCLE = "parent-cycle"
    PARENT_MISSING = "parent-missing"
    ORPHAN_ADOPTED = "orphan-adopted"
    SERVER_JOINED = "server-joined"
    SEVERAL_CONVERSATIONS = "several-conversations"
    CLOCK_SHIFTED = "clock-shifted"
    CLOCK_INCONSISTENT = "clock-inconsistent"
    SHADOWED = "shadowed"
    REPORTED_TWICE = "reported-twice"
    OUTSIDE_PARENT = "outside-parent"
    CHUNK_IS_NOT_CONTENT = "chunk-is-not-content"
    IDLE_INFERRED = "idle-inferred"
    WRITTEN_AT_END = "written-at-end"
    LEFT_OPEN = "left-open"

    @property
    def text(self) -> str:
        """What was seen and what was done about it, for people."""
        return _TEXTS[self]


_TEXTS = {
    Oddity.END_BEFORE_START: "ends before it starts; counted with no duration",
    Oddity.UNFINISHED: "has not ended; counted until the end of its last child",
    Oddity.PARENT_CYCLE: "its parents form a loop; left out of the account",
    Oddity.PARENT_MISSING: "its parent never arrived and no other span holds it; counted at the top",
    Oddity.ORPHAN_ADOPTED: "its parent never arrived; counted below the shortest span that holds it",
    Oddity.SERVER_JOINED: "came without its parent; joined to the MCP request it answers",
    Oddity.SEVERAL_CONVERSATIONS: "its trace holds several conversations; the nearest ancestor decided",
    Oddity.CLOCK_SHIFTED: "its process's clock differs from its client's; shifted in the account only",
    Oddity.CLOCK_INCONSISTENT: "no single clock offset explains its process's requests; the median one was used",
    Oddity.SHADOWED: "runs inside a sibling that says nothing about it; counted below that sibling",
    Oddity.REPORTED_TWICE: "another instrumentation reports the same call; counted once, with what both know",
    Oddity.OUTSIDE_PARENT: "runs wholly outside its parent; counted below the nearest ancestor that it touches",
    Oddity.CHUNK_IS_NOT_CONTENT: "its first event carries no content; waiting and generating cannot be told apart",
    Oddity.WRITTEN_AT_END: "was written down when it ended and says how long it took; counted from its beginning",
    Oddity.LEFT_OPEN: "is an event that was left open to the end of the run; counted until the next event",
    Oddity.IDLE_INFERRED: "a long pause after a final answer was taken for the user's time",
}
