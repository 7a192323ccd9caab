"""``spanwise export [ID…]``: traces out of a server or a database file, as OTLP or Parquet files."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.progress import DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TransferSpeedColumn

from spanwise_analyzer import command
from spanwise_analyzer.client import Source
from spanwise_analyzer.download import Format, Table
from spanwise_collector.interchange.file import STANDARD, writing


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files; 0, 1 when they could not be written whole (then there are none), 2 for a usage error."""
    parser = command.parser("export", "Write whole traces as files that this or any other OpenTelemetry program reads.")
    parser.add_argument("id", nargs="*", metavar="ID", help="conversation or trace ids (default: everything)")
    parser.add_argument("--since", type=command.moment, help="only traces begun since: RFC 3339 or an age such as -1h")
    parser.add_argument("--until", type=command.moment, help="only traces begun before")
    parser.add_argument("--service", help="only traces with a span of this service")
    parser.add_argument("--format", choices=get_args(Format), default="otlp-json", help="default otlp-json")
    parser.add_argument(
        "--table", action="append", choices=get_args(Table), help="for parquet: only this table; may be repeated"
    )
    parser.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="file (packed if it ends in .gz or .zst), - for standard output; for parquet a folder",
    )
    return command.run(parser, arguments, lambda asked, source: _export(parser, asked, source))


def _export(parser: ArgumentParser, asked: Namespace, source: Source) -> int:
    if asked.output == STANDARD and (asked.json or asked.format == "parquet"):
        parser.error("standard output takes one file of OTLP, and no --json beside it")
    sizes = {}
    for table, name in _files(asked):
        parts = source.export(
            id=asked.id, since=asked.since, until=asked.until, service=asked.service, format=asked.format, table=table
        )
        sizes[name] = _write(name, parts)
    if asked.json:
        files = [{"file": name, "bytes": size} for name, size in sizes.items()]
        command.print_json({"format": asked.format, "files": files})
    elif asked.output != STANDARD:
        sys.stdout.write("".join(f"{name}  {size:,} bytes\n" for name, size in sizes.items()))
    return 0


def _files(asked: Namespace) -> Iterator[tuple[str, str]]:
    """Tables and the files that they go into."""
    if asked.format != "parquet":
        yield "spans", asked.output
        return
    folder = Path(asked.output)
    folder.mkdir(parents=True, exist_ok=True)
    yield from ((table, str(folder / f"{table}.parquet")) for table in asked.table or get_args(Table))


def _write(name: str, parts: Iterator[bytes]) -> int:
    size = 0
    columns = (SpinnerColumn(), TextColumn(name), DownloadColumn(), TransferSpeedColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=None)
        with writing(name) as file:
            for part in parts:
                file.write(part)
                size += len(part)
                progress.update(task, completed=size)
    return size


if __name__ == "__main__":
    sys.exit(main())
