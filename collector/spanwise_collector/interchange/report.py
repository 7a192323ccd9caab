"""What an import did, file by file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from spanwise_collector.interchange.piece import Fault

_SHOWN: Final = 100  # faults of a file that are kept for people to read; all are counted


@dataclass(slots=True)
class Report:
    """One file: spans taken in, by which formats, frames without any span, and what was left out."""

    file: str
    spans: int = 0
    without_spans: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    rejected_spans: int = 0
    faults: int = 0
    shown: list[Fault] = field(default_factory=list)

    def leave_out(self, fault: Fault) -> None:
        """Count what is left out."""
        self.rejected_spans += fault.spans
        self.faults += 1
        if len(self.shown) < _SHOWN:
            self.shown.append(fault)

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "file": self.file,
            "spans": self.spans,
            "formats": dict(sorted(self.formats.items())),
            "without_spans": self.without_spans,
            "rejected_spans": self.rejected_spans,
            "left_out": self.faults,
            "problems": [{"place": each.place, "reason": each.reason, "spans": each.spans} for each in self.shown],
        }


def document(reports: Sequence[Report]) -> dict[str, Any]:
    """The whole import for ``--json``."""
    return {
        "spans": sum(report.spans for report in reports),
        "rejected_spans": sum(report.rejected_spans for report in reports),
        "left_out": sum(report.faults for report in reports),
        "files": [report.document() for report in reports],
    }
