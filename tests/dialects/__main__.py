"""``python -m tests.dialects``: the table of docs/instrumentors.md from the recordings; ``--check`` only compares."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.dialects.reading import MODEL, Seen, names, seen

from spanwise.stages import Stage

PAGE = Path(__file__).parents[2] / "docs" / "instrumentors.md"
TABLE = re.compile(r"(<!-- instrumentors: make docs -->\n).*?(<!-- end of instrumentors -->\n)", re.DOTALL)
_SHOWN = ("openai", "mcp")
_CONNECTION = (Stage.MCP_CONNECT, Stage.MCP_HANDSHAKE, Stage.MCP_CLOSE)
_UNEXPLAINED = (Stage.OTHER, Stage.UNATTRIBUTED, Stage.AGENT_OVERHEAD)
_HEAD = ("", "with", "conversation", "model", "first token", "tokens", "tools", "MCP", "connection", "unexplained")


def main() -> int:
    """Rewrite or compare the page; the exit code says whether it is as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    current = TABLE.sub(lambda found: f"{found[1]}{table()}{found[2]}", text)
    if "--check" not in sys.argv:
        PAGE.write_text(current, encoding="utf-8")
    elif current != text:
        sys.stderr.write("docs/instrumentors.md does not show what the recordings say; run: python -m tests.dialects\n")
        return 1
    return 0


def table() -> str:
    """One row for each that was used alone."""
    rows = [_HEAD, tuple("---" for _ in _HEAD), *(tuple(_cells(seen(name))) for name in names() if "+" not in name)]
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


def _cells(found: Seen) -> Iterator[str]:
    own = {name: version for name, version in found.versions.items() if name not in _SHOWN}
    yield ", ".join(f"{name} {version}" for name, version in own.items()) or "the MCP SDK's own spans"
    yield ", ".join(f"{name} {found.versions[name]}" for name in _SHOWN)
    yield "one" if len(found.ledgers) == 1 else f"{len(found.ledgers)} of a turn each"
    yield f"{found.calls} calls, {found.seconds(*MODEL):.2f} s" if found.calls else "-"
    yield _time(found, Stage.MODEL_FIRST_TOKEN)
    yield str(found.input_tokens or "-")
    yield _time(found, Stage.TOOL_LOCAL)
    opaque = found.seconds(Stage.MCP_OPAQUE) > found.seconds(Stage.MCP_SERVER)
    yield "opaque" if opaque else _time(found, Stage.MCP_SERVER)
    yield _time(found, *_CONNECTION)
    yield _time(found, *_UNEXPLAINED)


def _time(found: Seen, *stages: Stage) -> str:
    seconds = found.seconds(*stages)
    return f"{seconds:.2f} s" if seconds >= 0.005 else "-"


if __name__ == "__main__":
    sys.exit(main())
