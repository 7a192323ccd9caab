"""``spanwise run -- python agent.py``: the same as the two lines, without touching the program."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from opentelemetry.sdk.environment_variables import (
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_SERVICE_NAME,
)

from spanwise.content import VARIABLE as CAPTURE_VARIABLE

AUTOSTART = str(Path(__file__).parent / "autostart")
NOT_FOUND = 127  # what a shell answers
# Process id of the program itself, so that what it starts can be told from it.
PROGRAM_VARIABLE = "SPANWISE_RUN_PID"


def main(arguments: Sequence[str]) -> int:
    """Replace this process by the program, instrumented. Returns only if that fails."""
    options = _parser().parse_args(list(arguments))
    command = [part for index, part in enumerate(options.command) if index or part != "--"]
    if not command:
        _parser().error("say what to run, for example: spanwise run -- python agent.py")
    program = shutil.which(command[0])
    if program is None:
        sys.stderr.write(f"spanwise run: {command[0]}: not found\n")
        return NOT_FOUND
    return _become(program, command, environment(os.environ, _chosen(options)))


def _become(program: str, command: list[str], environ: Mapping[str, str]) -> NoReturn:
    sys.stdout.flush()
    os.execve(program, command, environ)  # noqa: S606 - this is what the command is for


def environment(given: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: ``chosen`` variables over the ``given`` ones, our start-up file first on the path."""
    path = given.get("PYTHONPATH", "")
    # An empty entry is the current directory, an empty path is none.
    rest = [entry for entry in path.split(os.pathsep) if entry != AUTOSTART] if path else []
    return {**given, **chosen, "PYTHONPATH": os.pathsep.join([AUTOSTART, *rest]), PROGRAM_VARIABLE: str(os.getpid())}


def _chosen(options: argparse.Namespace) -> dict[str, str]:
    found = {OTEL_SERVICE_NAME: options.service_name, OTEL_EXPORTER_OTLP_ENDPOINT: options.endpoint}
    if options.capture_content:
        found[CAPTURE_VARIABLE] = "true"
    return {name: value for name, value in found.items() if value}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="spanwise run", description=__doc__)
    parser.add_argument("--service-name", help="name of the agent (default: OTEL_SERVICE_NAME)")
    parser.add_argument("--endpoint", help="base URL of the collector (default: http://127.0.0.1:4318)")
    parser.add_argument("--capture-content", action="store_true", help="record prompts, arguments and results")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the program and its arguments, after --")
    return parser
