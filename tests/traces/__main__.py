"""``SPANWISE_TRACES=folder python -m tests.traces``: what was expected of each public file, and what was found."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table
from tests.traces.reading import TRACES, Found, agrees, found
from tests.traces.table import FILES, File, Ledger


def main() -> int:
    """Print the table; 1 where anything disagrees, 2 without the folder."""
    if not TRACES.is_dir():
        sys.stderr.write("SPANWISE_TRACES names no folder of public traces\n")
        return 2
    table = Table("file", "format", "expected", "found", "agrees", "why", title="public trace files")
    wrong = 0
    for file in FILES:
        seen = found(file)
        fine = _fine(file, seen)
        wrong += not fine
        table.add_row(file.name, *_words(file, seen), "yes" if fine else "NO", file.why)
    Console(width=None if sys.stdout.isatty() else 220).print(table)
    return int(wrong > 0)


def _fine(file: File, seen: Found) -> bool:
    if file.refused:
        return seen.report.spans == 0 and any(file.refused in fault.reason for fault in seen.report.shown)
    same = (file.spans, file.traces) == (seen.report.spans, seen.traces)
    return same and all(agrees(*pair) for pair in zip(file.ledgers, seen.ledgers, strict=True))


def _words(file: File, seen: Found) -> tuple[str, str, str]:
    if file.refused:
        return "", f"refused: {file.refused}", seen.report.shown[0].reason if seen.report.shown else "not refused"
    expected = [f"{file.spans} spans, {file.traces} traces", *map(_times, file.ledgers)]
    actual = [f"{seen.report.spans} spans, {seen.traces} traces", *map(_times, seen.ledgers)]
    return ", ".join(seen.report.formats), "\n".join(expected), "\n".join(actual)


def _times(ledger: Ledger) -> str:
    parts = {"": ledger.window_s, "model ": ledger.model_s, "tools ": ledger.tool_s}
    return ", ".join(f"{name}{value:.6g} s" for name, value in parts.items() if value is not None)


if __name__ == "__main__":
    sys.exit(main())
