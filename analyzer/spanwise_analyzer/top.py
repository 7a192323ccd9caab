"""``spanwise top``: the conversations that took longest, or that could save most."""

from __future__ import annotations

import sys
import textwrap
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from spanwise_analyzer import command
from spanwise_analyzer.client import Document, Source
from spanwise_analyzer.figures import NONE, bar, duration, percent
from spanwise_analyzer.report import COLOURS

_BAR = 12
_MOST = 1000
_PIPED = 130  # columns at least where no terminal limits them
_ADVICE = 11  # columns for a rule's name when it has to wrap: the longest part between its hyphens
_RIGHT = frozenset({"turns", "active", "share", "saves"})
_BARS = ""  # the bars need no heading
# What a narrow terminal goes without, step by step; the identifiers and the numbers that remain are never cut.
_WITHOUT = ((), (_BARS,), (_BARS, "service"), (_BARS, "service", "turns"), (_BARS, "service", "turns", "share"))
_CANDIDATES = 200  # conversations whose savings are looked at: the slowest ones, where savings can be large


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the ranking; 0, or 1 when there is nothing to read."""
    parser = command.parser("top", "The conversations, the longest first, or those first that could save most.")
    parser.add_argument("--by", choices=("active", "saving"), default="active", help="what to rank by (default active)")
    parser.add_argument("-n", "--limit", type=_limit, default=20, help="how many, at most 1000 (default 20)")
    parser.add_argument("--since", type=command.moment, help="RFC 3339 or an age such as -1h")
    parser.add_argument("--service", help="only conversations of this service")
    return command.run(parser, arguments, lambda asked, source: _top(parser, asked, source))


def _top(parser: ArgumentParser, asked: Namespace, source: Source) -> int:
    wanted = max(asked.limit, _CANDIDATES) if asked.by == "saving" else asked.limit
    found = source.conversations(sort="active", limit=wanted, since=asked.since, service=asked.service)["conversations"]
    rows = [_with_saving(row, source) for row in found]
    if asked.by == "saving":
        rows = sorted(rows, key=_saving_first)[: asked.limit]
    if asked.json:
        command.print_json({"by": asked.by, "conversations": rows})
    elif rows:
        show(rows, _console())
    else:
        return command.failed(parser, "there is no such conversation yet")
    return 0


def _with_saving(row: Mapping[str, Any], source: Source) -> Document:
    said = source.conversation(row["conversation_id"]) if row["recommendation"] else None
    first = said["recommendations"][0] if said and said["recommendations"] else None
    return {**row, "saving_ms": first["saving_ms"] if first else None}


def _saving_first(row: Mapping[str, Any]) -> tuple[float, float]:
    saving = row["saving_ms"]
    return -(saving["expected"] if saving else 0.0), -row["active_ms"]


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, _PIPED), height=console.height)


def show(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """The table with as many columns as fit; one that cannot fit is wider than the terminal rather than cut."""
    cells = [_cells(row) for row in rows]
    whole = [_table(cells, without) for without in _WITHOUT[:-1]]
    wrapped = [_table([_wrapped(row) for row in cells], without) for without in _WITHOUT[-2:]]
    for table in (*whole, *wrapped):
        width = _width(table, console)
        if width <= console.width:
            break
    console.width = max(console.width, width)
    console.print(table)


def _width(table: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update(max_width=2**16), table).maximum


def _table(cells: Sequence[Mapping[str, str]], without: Sequence[str]) -> Table:
    names = [name for name in cells[0] if name not in without]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name, justify="right" if name in _RIGHT else "left", no_wrap=True)
    for row in cells:
        table.add_row(*(row[name] for name in names))
    return table


def _wrapped(row: Mapping[str, str]) -> dict[str, str]:
    return {**row, "change": "\n".join(textwrap.wrap(row["change"], _ADVICE))}


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    pole, saving = row["dominant"], row["saving_ms"]
    return {
        "conversation": escape(row["conversation_id"]),
        "service": escape(row["service"]),
        "turns": str(row["turns"]),
        "active": duration(row["active_ms"]),
        "long pole": pole["stage"] if pole else NONE,
        "share": percent(pole["share"] if pole else None),
        _BARS: f"[{COLOURS[pole['group']]}]{bar(pole['share'], width=_BAR)}[/]" if pole else "",
        "change": row["recommendation"] or "nothing",
        "saves": duration(saving["expected"] if saving else None),
    }


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {_MOST}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
