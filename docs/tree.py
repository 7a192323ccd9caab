"""Writes the file tree of ARCHITECTURE.md from each file's own first sentence; ``--check`` only compares."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
FOLDERS = ("instrumentation", "collector", "analyzer", "dashboards", "demo", "benchmarks", "docs")
SILENT = {"py.typed"}
BEGIN, END = "<!-- tree: make docs -->\n", "<!-- end of tree -->\n"


def main() -> int:
    """Rewrite or compare the tree; the exit code says whether the page is as it should be."""
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    tail = rest.partition(END)[2]
    wanted = f"{head}{BEGIN}```text\n{tree()}```\n{END}{tail}"
    if "--check" not in sys.argv:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if wanted != page:
        print("ARCHITECTURE.md does not list today's files; run: make docs", file=sys.stderr)
    return int(wanted != page)


def tree() -> str:
    """Every file of the project folders with its sentence, folder by folder."""
    files = sorted(tracked(), key=lambda path: (FOLDERS.index(path.parts[0]), path.parent.parts, path.name))
    lines = []
    for folder, members in itertools.groupby(files, key=lambda path: path.parent):
        lines.append(f"{folder.as_posix()}/")
        lines += [f"  {path.name:<22} {sentence(ROOT / path)}".rstrip() for path in members]
    return "\n".join(lines) + "\n"


def tracked() -> list[Path]:
    """Files under version control (or about to be) in the project folders."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *FOLDERS]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603 - fixed words
    return [Path(name) for name in set(names) if Path(name).name not in SILENT and (ROOT / name).exists()]


def sentence(path: Path) -> str:
    """The first line in which the file says what it is for."""
    if path.suffix == ".py":
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        return doc.partition("\n")[0]
    if path.suffix in {".png", ".json"}:
        return ""
    first = path.read_text(encoding="utf-8").lstrip().partition("\n")[0]
    return re.sub(r"^(#+|--|/\*|<!--|\{#)\s*|\s*(\*/|-->|#\})$", "", first)


if __name__ == "__main__":
    sys.exit(main())
