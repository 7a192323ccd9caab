"""``spanwise import FILE…``: traces out of files into a running server or a database file."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from spanwise_analyzer import command, settings
from spanwise_analyzer.database import opened
from spanwise_collector.interchange.destination import Destination, IntoStore, Nowhere
from spanwise_collector.interchange.file import STANDARD
from spanwise_collector.interchange.formats import NAMES
from spanwise_collector.interchange.importing import imported
from spanwise_collector.interchange.report import Report, document
from spanwise_collector.interchange.sending import ToServer
from spanwise_collector.store import DatabaseInUse, Limits, Overloaded

_URL: Final = "http://127.0.0.1:4318"
# Decoded spans take many times the room of the file; a file waits, so a short queue costs nothing.
_LIMITS: Final = Limits(queue_bytes=16 * 2**20, queue_spans=20_000)
_ENGINE_BYTES: Final = 160 * 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """Import; 0, 1 when anything was left out or could not be delivered, 2 for a usage error."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    reports: list[Report] = []
    try:
        with _destination(asked) as destination:
            reports.extend(_import(name, destination) for name in _files(asked.file))
    except (DatabaseInUse, Overloaded, OSError) as error:
        taken = sum(report.spans for report in reports)
        return command.failed(parser, f"{error} (spans of files imported before: {taken})")
    if asked.json:
        command.print_json({"dry_run": asked.dry_run, **document(reports)})
    else:
        _say(reports, dry=asked.dry_run)
    return int(any(report.faults for report in reports))


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        "spanwise import",
        description="Read trace files into a running server or a database file; what is there already stays once.",
    )
    formats = "; ".join(NAMES)
    parser.add_argument(
        "file",
        nargs="+",
        metavar="FILE",
        help=f"file, folder with files, or - for stdin; gzip, zstd or plain; told by its content: {formats}",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", default=_URL, help=f"OTLP/HTTP address of a running server (default {_URL})")
    where.add_argument("--db", type=Path, metavar="DATABASE", help="database file that no server has open")
    where.add_argument("--dry-run", action="store_true", help="only read and count")
    token = settings.token(os.environ)
    parser.add_argument("--token", default=token, help="bearer token that may send (SPANWISE_TOKEN)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    return parser


@contextmanager
def _destination(asked: Namespace) -> Iterator[Destination]:
    if asked.dry_run:
        yield Nowhere()
    elif asked.db is None:
        with ToServer(asked.url, token=asked.token) as server:
            yield server
    else:
        store = opened(asked.db, _LIMITS)
        store.economise(_ENGINE_BYTES)
        try:
            yield IntoStore(store)
        finally:
            store.close()


def _import(name: str, destination: Destination) -> Report:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[spans]:,} spans"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=_size(name), spans=0)
        return imported(name, destination, lambda at, spans: progress.update(task, completed=at, spans=spans))


def _files(names: Sequence[str]) -> Iterator[str]:
    """All files of folders, in order; what is hidden is left alone."""
    for name in names:
        path = Path(name)
        if name == STANDARD or not path.is_dir():
            yield name
            continue
        inside = (each for each in sorted(path.rglob("*")) if each.is_file())
        yield from (str(each) for each in inside if not any(p.startswith(".") for p in each.relative_to(path).parts))


def _size(name: str) -> int | None:
    try:
        return None if name == STANDARD else Path(name).stat().st_size
    except OSError:  # reading it says what is wrong
        return None


def _say(reports: Sequence[Report], *, dry: bool) -> None:
    for report in reports:
        formats = ", ".join(sorted(report.formats)) or "no spans"
        sys.stdout.write(f"{report.file}: {report.spans:,} spans {'found' if dry else 'imported'} ({formats})\n")
        if report.without_spans:
            sys.stdout.write(f"{report.file}: {report.without_spans:,} messages hold no spans\n")
        for fault in report.shown:
            what = f"{fault.spans:,} spans left out" if fault.spans else "left out"
            sys.stderr.write(f"{report.file}, {fault.place}: {what}: {' '.join(fault.reason.split())}\n")
        if report.faults > len(report.shown):
            sys.stderr.write(f"{report.file}: and {report.faults - len(report.shown):,} more\n")


if __name__ == "__main__":
    sys.exit(main())
