"""One thing that the doctor found out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; ``ok`` None means that it is no matter of right and wrong."""

    ok: bool | None
    text: str
    remedy: str = ""  # what to do about it

    def __str__(self) -> str:
        line = f"{self.sign:<4} {self.text}"
        return f"{line}\n       -> {self.remedy}" if self.remedy else line

    @property
    def sign(self) -> str:
        """What stands in front: FAIL is never just worth a thought, and a thought is never a failure."""
        if self.ok is None:
            return "note" if self.remedy else ""
        return "ok" if self.ok else "FAIL"
