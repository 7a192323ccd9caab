"""What the reading commands share: one source, one line per error, JSON or a terminal."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from spanwise_analyzer import client, settings
from spanwise_analyzer import moment as times
from spanwise_collector.store import DatabaseInUse

Body: TypeAlias = Callable[[Namespace, client.Source], int]
FAILED = 1


def parser(name: str, description: str) -> ArgumentParser:
    """A parser with the options that every reading command has."""
    found = ArgumentParser(f"spanwise {name}", description=description)
    client.options(found, url=settings.url(os.environ), token=settings.token(os.environ))
    found.add_argument("--json", action="store_true", help="print the answer as JSON")
    return found


def run(parser: ArgumentParser, arguments: Sequence[str] | None, body: Body) -> int:
    """Run the body with its source; whatever is missing is said in one line, with exit code 1."""
    asked = parser.parse_args(arguments)
    try:
        with client.source(asked) as source:
            return body(asked, source)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing may fail at exit when it is flushed
        return FAILED
    except (client.Unavailable, DatabaseInUse, OSError) as error:
        return failed(parser, str(error))


def moment(text: str) -> str:
    """A point in time as people write it, for argparse."""
    try:
        times.parse(text, now_ns=0)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def failed(parser: ArgumentParser, message: str) -> int:
    """Say what is wrong, in one line."""
    sys.stderr.write(f"{parser.prog}: {' '.join(message.split())}\n")
    return FAILED


def print_json(document: Any) -> None:
    """One document on standard output."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
