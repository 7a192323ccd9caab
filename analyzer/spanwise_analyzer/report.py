"""``spanwise report [ID]``: one conversation explained in the terminal."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from spanwise_analyzer import command
from spanwise_analyzer.client import Document, Source
from spanwise_analyzer.figures import bar, count, duration, percent, spread

_BAR = 24
_EVIDENCE = 5
_NAMED = 10  # conversations that a prefix with several meanings is answered with
_PAGE = 1000
COLOURS = {
    "connection": "magenta",
    "model": "blue",
    "tools": "yellow",
    "retries": "red",
    "agent": "green",
    "unknown": "bright_black",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; 0, or 1 when there is nothing to read or no such conversation."""
    parser = command.parser("report", "Explain one conversation: where its time went and what to change.")
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="conversation id or the start of one (default: the newest conversation)"
    )
    return command.run(parser, arguments, lambda asked, source: _report(parser, asked, source))


def _report(parser: ArgumentParser, asked: Namespace, source: Source) -> int:
    conversation_id = asked.id or _newest(source)
    if conversation_id is None:
        return command.failed(parser, "there is no conversation yet")
    said = source.conversation(conversation_id)
    if said is None:
        meant = list(_meant(conversation_id, source))
        said = source.conversation(meant[0]) if len(meant) == 1 else None
        if said is None:
            return command.failed(parser, _unclear(conversation_id, meant))
    if asked.json:
        command.print_json(said)
    else:
        show(said, Console())
    return 0


def _newest(source: Source) -> str | None:
    found = source.conversations(limit=1)["conversations"]
    return found[0]["conversation_id"] if found else None


def _meant(prefix: str, source: Source) -> Iterator[str]:
    """Ids of all conversations that begin so."""
    cursor = None
    while True:
        page = source.conversations(limit=_PAGE, cursor=cursor)
        ids = (row["conversation_id"] for row in page["conversations"])
        yield from (found for found in ids if found.startswith(prefix))
        cursor = page["next_cursor"]
        if cursor is None:
            return


def _unclear(prefix: str, meant: Sequence[str]) -> str:
    if not meant:
        return f"no conversation {prefix!r} in this store"
    more = f" and {len(meant) - _NAMED} more" if len(meant) > _NAMED else ""
    return f"{prefix!r} is the start of {len(meant)} conversations: {', '.join(meant[:_NAMED])}{more}"


def show(said: Document, console: Console) -> None:
    """The whole report."""
    for part in _parts(said):
        console.print(part)


def _parts(said: Document) -> Iterator[RenderableType]:
    yield _head(said)
    yield _stages(said)
    yield from (f"[yellow]![/] [bold]{escape(row['code'])}[/]  {escape(row['text'])}" for row in said["notices"])
    yield from _advice(said)
    yield _tokens(said["tokens"])
    yield from _problems(said["problems"])


def _head(said: Document) -> str:
    pole = said["dominant"]
    longest = f"long pole [bold]{pole['stage']}[/] {percent(pole['share'])}" if pole else "no active time"
    idle = f", {duration(said['idle_ms'])} between turns" if said["idle_ms"] else ""
    turns = len(said["turns"])
    started = f"{said['started_at'][:19]}Z"
    return (
        f"[bold]{escape(said['conversation_id'])}[/]  {escape(said['service'])}  {started}  {said['status']}\n"
        f"{duration(said['active_ms'])} active in {turns} turn{'s' if turns != 1 else ''}{idle}; {longest}"
    )


def _stages(said: Document) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("stage")
    table.add_column("time", justify="right")
    table.add_column("share", justify="right")
    table.add_column("", min_width=_BAR, no_wrap=True)
    table.add_column("spans", justify="right")
    for row in said["stages"]:
        drawn = f"[{COLOURS[row['group']]}]{bar(row['share'], width=_BAR)}[/]"
        table.add_row(row["stage"], duration(row["ms"]), percent(row["share"]), drawn, str(row["spans"]))
    return table


def _problems(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each kind of oddity, with the number of spans where it was seen more than once."""
    for (code, text), times in Counter((row["code"], row["text"]) for row in rows).items():
        many = f"{times} spans: " if times > 1 else ""
        yield f"[dim]odd: {escape(code)}  {many}{escape(text)}[/]"


def _advice(said: Document) -> Iterator[RenderableType]:
    if not said["recommendations"]:
        yield "Nothing to change: no rule of the guide holds for this conversation."
    for number, advice in enumerate(said["recommendations"], start=1):
        kind = f", {advice['kind']}" if advice["saving_ms"] else ""
        sure = f"[dim]{advice['priority']}{kind}[/]"
        yield f"\n[bold]{number}. {escape(advice['title'])}[/]  [cyan]{advice['rule']}[/] {sure}"
        yield from (Padding(line, (0, 0, 0, 3)) for line in _lines(advice))


def _lines(advice: Mapping[str, Any]) -> Iterator[str]:
    yield _saving(advice)
    yield escape(advice["advice"])
    for found in advice["evidence"][:_EVIDENCE]:
        where = f" [dim]span {found['span_id']}[/]" if found["span_id"] else ""
        yield f"· {duration(found['ms'])}  {escape(found['what'])}{where}"
    more = len(advice["evidence"]) - _EVIDENCE
    if more > 0:
        yield f"· and {more} more"
    yield from (f"[dim]left open:[/] {escape(caveat)}" for caveat in advice["caveats"])
    yield f"[dim]must still hold:[/] {escape(advice['must_still_hold'])}"
    yield f"[dim]verify:[/] {escape(advice['verify'])}"
    yield f"[dim]source:[/] {escape(advice['source'])}"


def _saving(advice: Mapping[str, Any]) -> str:
    saving = advice["saving_ms"]
    if saving is None:
        return "[dim]no time saving is claimed[/]"
    part = f", {percent(advice['share_of_active'])} of the active time" if advice["share_of_active"] is not None else ""
    return f"saves [bold]{duration(saving['expected'])}[/] ({spread(saving) or advice['kind']}{part})"


def _tokens(bill: Mapping[str, Any]) -> str:
    line = f"\ntokens: {count(bill['input'])} in, {count(bill['cached'])} of them cached, {count(bill['output'])} out"
    sources = ", ".join(_source(row) for row in bill["by_source"])
    return f"{line}\n[dim]input from {escape(sources)}[/]" if sources else line


def _source(row: Mapping[str, Any]) -> str:
    of = "/".join(name for name in (row["server"], row["tool"]) if name)
    return f"{row['source'].replace('_', ' ')}{f' {of}' if of else ''} {count(row['tokens'])} ({row['basis']})"


if __name__ == "__main__":
    sys.exit(main())
