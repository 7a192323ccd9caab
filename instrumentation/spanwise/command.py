"""The ``spanwise`` command: two subcommands of its own, the others from whatever extras are installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any

from spanwise.tracer import release

GROUP = "spanwise.commands"
MISSING = 2  # exit code where an extra is not installed

_HELP = {
    "run": "run a program with instrumentation: spanwise run -- python agent.py",
    "doctor": "what is installed and set, and one test span sent to the server and shown back",
    "serve": "collect, explain and show traces",
    "report": "explain conversations in the terminal",
    "top": "the conversations, the longest first",
    "export": "write traces as OTLP or Parquet files",
    "import": "read trace files into a server or a database file",
    "demo": "a real agent in twenty-two scenarios: a healthy one and twenty-one planted causes",
}
_EXTRAS = {"demo": "demo"}  # every other one needs the server


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the subcommand; returns the exit code, 2 for a wrong call or a missing extra."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Only what stands before the subcommand is ours: everything behind it is the subcommand's.
    if not given or given[0].startswith("-"):
        options = _parser().parse_args(given)
        del options
        _parser().print_help()
        return MISSING
    name, *rest = given
    command = _own(name) or _loaded(name)
    return MISSING if command is None else int(command(rest) or 0)


def _own(name: str) -> Callable[[Sequence[str]], int] | None:
    if name == "run":
        from spanwise import run

        return run.main
    if name == "doctor":
        from spanwise import doctor

        return doctor.main
    return None


def _loaded(name: str) -> Callable[[Sequence[str]], Any] | None:
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        sys.stderr.write(f"spanwise: no command {name!r}; there are {', '.join(_names())}\n")
        return None
    try:
        command: Callable[[Sequence[str]], Any] = found[name].load()
    except ImportError as error:
        extra = _EXTRAS.get(name, "server")
        clone = f"in a clone: pip install -e '.[{extra}]'"
        sys.stderr.write(f"spanwise {name} needs more: pip install 'spanwise[{extra}]'; {clone} ({error})\n")
        return None
    return command


def _names() -> list[str]:
    return [*_HELP, *sorted({point.name for point in entry_points(group=GROUP)} - set(_HELP))]


def _parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:<8} {_HELP.get(name, '')}" for name in _names())
    parser = argparse.ArgumentParser(
        prog="spanwise",
        usage="spanwise [--version] COMMAND ...",
        description="Why an agent's conversation was slow, what to change, and how much that will save.",
        epilog=f"commands:\n{listing}\n\nspanwise COMMAND --help tells more about one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"spanwise {release()}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
