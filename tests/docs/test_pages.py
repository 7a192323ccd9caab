"""What the pages show is what is tested."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = DOCS / "instrument-your-agent.md"
FENCE = re.compile(r"(?:<!-- (docs/snippets/\S+\.py) -->\n)?```python\n(.*?)```\n", re.DOTALL)
# Where the snippets that need more than this package are run.
MATRIX = ROOT / "tests" / "matrix" / "frameworks"


def shown() -> dict[str, str]:
    return {name: code for name, code in FENCE.findall(PAGE.read_text(encoding="utf-8")) if name}


def test_every_page_shows_the_files_as_they_are() -> None:
    subprocess.run([sys.executable, str(DOCS / "include.py"), "--check"], check=True)


def test_a_file_that_changed_is_noticed(tmp_path: Path) -> None:
    snippets = tmp_path / "docs" / "snippets"
    snippets.mkdir(parents=True)
    (tmp_path / "docs" / "include.py").write_text((DOCS / "include.py").read_text(encoding="utf-8"), encoding="utf-8")
    (snippets / "one.py").write_text("print(1)\n", encoding="utf-8")
    page = tmp_path / "docs" / "page.md"
    page.write_text("<!-- docs/snippets/one.py -->\n```python\nprint(0)\n```\nrest\n", encoding="utf-8")
    command = [sys.executable, str(tmp_path / "docs" / "include.py")]
    assert subprocess.run([*command, "--check"], capture_output=True, check=False).returncode == 1
    subprocess.run(command, check=True)
    assert page.read_text(encoding="utf-8") == "<!-- docs/snippets/one.py -->\n```python\nprint(1)\n```\nrest\n"
    subprocess.run([*command, "--check"], check=True)


def test_every_snippet_is_shown_once_and_run_in_a_test() -> None:
    files = {path.name for path in (DOCS / "snippets").glob("*.py")}
    tests = "".join(path.read_text(encoding="utf-8") for path in MATRIX.glob("test_*.py"))
    assert files == {Path(name).name for name in shown()}
    assert [name for name in files if f'"{name}"' not in tests] == []


def test_whatever_else_the_page_shows_can_be_compiled() -> None:
    for name, code in FENCE.findall(PAGE.read_text(encoding="utf-8")):
        compile(code, name or str(PAGE), "exec")


def test_the_page_explains_every_public_name() -> None:
    import spanwise

    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in spanwise.__all__ if f"{name}(" not in page] == []
