"""What the demo prints for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from spanwise_demo.verdict import Verdict

_LOCAL = "the local model server of this demo: its latency is a declared table, its waits are real, no network was used"
_REAL = "a real endpoint, {}; what it answers, refuses and serves is its own, so not every cause can be planted there"
_COMMAND = "spanwise" if which("spanwise") else ".venv/bin/spanwise"  # `make demo` does not activate its environment


@dataclass(frozen=True, slots=True)
class Show:
    """What was played: the verdicts, the model that ran, and where spans and page are (None: not served any more)."""

    verdicts: Sequence[Verdict]
    model: str
    database: Path
    page: str | None

    def document(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {"model": self.model, "scenarios": [row.document() for row in self.verdicts]}

    def draw(self, console: Console) -> None:
        """The table, which model ran, where to look, what to try."""
        table = Table(title="Where the time of each conversation went", title_justify="left", box=box.SIMPLE_HEAD)
        for name in ("scenario", "active", "long pole", "first recommendation", "saving in ms (range)", "cause named"):
            table.add_column(name, justify="right" if name == "active" else "left", overflow="fold")
        for row in self.verdicts:
            table.add_row(*_cells(row))
        console.print(table)
        named = sum(row.as_planted for row in self.verdicts)
        console.print(f"{named} of {len(self.verdicts)} as planted.")
        console.print(f"Model: {_LOCAL if self.model == 'local' else _REAL.format(self.model)}.")
        for line in self._where():
            console.print(line, soft_wrap=True, highlight=False)

    def _where(self) -> Iterator[str]:
        source = f"--url {self.page}" if self.page else f"--db {self.database}"
        shown = next((row for row in self.verdicts if row.rule), self.verdicts[0])
        yield ""
        yield f"Database: {self.database}"
        yield f"Page:     {self.page}   (Ctrl-C ends it)" if self.page else f"Open it:  {_COMMAND} serve {source}"
        yield "Next:"
        yield f"  1. {_COMMAND} report {shown.conversation_id} {source}   explains one conversation"
        yield f"  2. {_COMMAND} top {source}   lists the conversations, the longest first"
        yield "  3. `import spanwise; spanwise.instrument()` in your own agent, while `spanwise serve` runs"


def _cells(row: Verdict) -> tuple[str, ...]:
    pole = f"{row.dominant} {row.share:.0%}" if row.dominant else "-"
    return row.scenario, f"{row.active_ms / 1000:.2f} s", pole, row.rule or "none", _saving(row), _planted(row)


def _saving(row: Verdict) -> str:
    if row.saving_ms is None:
        return "none claimed" if row.rule else "-"
    low, expected, high = (f"{row.saving_ms[name]:,.0f}" for name in ("low", "expected", "high"))
    return expected if low == expected == high else f"{expected} ({low}-{high})"


def _planted(row: Verdict) -> str:
    if not row.as_planted:
        return f"[red]no: {row.planted or 'nothing planted'}[/red]"
    return "[green]yes[/green]" if row.planted else "[green]none planted[/green]"
