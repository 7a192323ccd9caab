"""``spanwise top``: the conversations that took longest, or that could save most."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from spanwise_analyzer import command, moment
from spanwise_analyzer.client import Document, Source
from spanwise_analyzer.figures import NONE, bar, duration, percent
from spanwise_analyzer.report import COLOURS

_BAR = 12
_MOST = 1000
_CANDIDATES = 200  # conversations whose savings are looked at: the slowest ones, where savings can be large


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the ranking; 0, or 1 when there is nothing to read."""
    parser = command.parser("top", "Rank conversations by active time or by what could be saved.")
    parser.add_argument("--by", choices=("active", "saving"), default="active", help="what to rank by (default active)")
    parser.add_argument("-n", "--limit", type=_limit, default=20, help="how many, at most 1000 (default 20)")
    parser.add_argument("--since", type=_moment, help="RFC 3339 or an age such as -1h")
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
        Console().print(_table(rows))
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


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("conversation", "service", "turns", "active", "long pole", "share", "", "change first", "saves"):
        table.add_column(name, justify="right" if name in {"turns", "active", "share", "saves"} else "left")
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: Mapping[str, Any]) -> list[str]:
    pole, saving = row["dominant"], row["saving_ms"]
    drawn = f"[{COLOURS[pole['group']]}]{bar(pole['share'], width=_BAR)}[/]" if pole else ""
    return [
        escape(row["conversation_id"]),
        escape(row["service"]),
        str(row["turns"]),
        duration(row["active_ms"]),
        pole["stage"] if pole else NONE,
        percent(pole["share"] if pole else None),
        drawn,
        row["recommendation"] or "[dim]nothing[/]",
        duration(saving["expected"] if saving else None),
    ]


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {_MOST}")
    return int(text)


def _moment(text: str) -> str:
    try:
        moment.parse(text, now_ns=0)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


if __name__ == "__main__":
    sys.exit(main())
