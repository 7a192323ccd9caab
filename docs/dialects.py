"""Writes the tables of docs/dialects.md from the names that the collector knows; ``--check`` only compares."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from spanwise_collector import dialect

PAGE = Path(__file__).resolve().parent / "dialects.md"
TABLES = re.compile(r"(<!-- names: make docs -->\n).*?(<!-- end of names -->\n)", re.DOTALL)


def main() -> int:
    """Rewrite or compare the page; the exit code says whether it is as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    current = TABLES.sub(lambda found: f"{found[1]}{tables()}{found[2]}", text)
    if "--check" not in sys.argv:
        PAGE.write_text(current, encoding="utf-8")
    elif current != text:
        print("docs/dialects.md does not show today's names; run: python docs/dialects.py", file=sys.stderr)
        return 1
    return 0


def tables() -> str:
    """Names first, then kinds."""
    return "\n".join(["", *_names(), "", *_kinds(), "", ""])


def _names() -> Iterator[str]:
    yield from ("| kept as | read from, the first that is there |", "|---|---|")
    scaled = {target: f"`{source}` (ms)" for target, (source, _) in dialect.SCALED.items()}
    for target, sources in dialect.ALIASES.items():
        found = [f"`{source}`" for source in sources] + ([scaled[target]] if target in scaled else [])
        yield f"| `{target}` | {', '.join(found)} |"


def _kinds() -> Iterator[str]:
    yield from ("| attribute | its value means the operation |", "|---|---|")
    for key, meanings in dialect.OPERATIONS.items():
        yield f"| `{key}` | {', '.join(f'`{value}` → `{meant}`' for value, meant in meanings.items())} |"


if __name__ == "__main__":
    sys.exit(main())
