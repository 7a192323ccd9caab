"""Copies the files of docs/snippets into the pages that show them; ``--check`` only compares."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOWN = re.compile(r"(<!-- (docs/snippets/\S+\.py) -->\n```python\n).*?(```\n)", re.DOTALL)


def main() -> int:
    """Rewrite or compare the pages; the exit code says whether they are as they should be."""
    stale = [page for page in sorted((ROOT / "docs").glob("*.md")) if not _current(page)]
    if "--check" in sys.argv:
        for page in stale:
            print(
                f"{page.relative_to(ROOT)} does not show today's snippets; run: python docs/include.py", file=sys.stderr
            )
        return int(bool(stale))
    for page in stale:
        page.write_text(included(page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def included(text: str) -> str:
    """The page with each snippet as its file is."""
    return SHOWN.sub(lambda found: f"{found[1]}{(ROOT / found[2]).read_text(encoding='utf-8')}{found[3]}", text)


def _current(page: Path) -> bool:
    text = page.read_text(encoding="utf-8")
    return included(text) == text


if __name__ == "__main__":
    sys.exit(main())
