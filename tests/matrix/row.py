"""The rows of the matrix: which environment holds which versions, and which suites of cells run in it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FILE = HERE / "environments.toml"
_NAME = re.compile(r"^[A-Za-z0-9_.-]+")


class Unknown(ValueError):
    """No row has that name."""


@dataclass(frozen=True, slots=True)
class Row:
    """One environment."""

    name: str
    python: str
    requirements: tuple[str, ...]
    suites: tuple[str, ...]
    extra: str = ""
    ci: bool = False

    @property
    def distributions(self) -> list[str]:
        """The packages that the row is about, in order."""
        return [found[0] for text in self.requirements if (found := _NAME.match(text))]


def rows(file: Path = FILE) -> list[Row]:
    """All rows, in the order of the file."""
    data: dict[str, Any] = tomllib.loads(file.read_text())
    return [_row(entry) for entry in data["environment"]]


def tools(file: Path = FILE) -> tuple[str, ...]:
    """What every environment needs to run cells."""
    return tuple(tomllib.loads(file.read_text())["tools"]["requirements"])


def chosen(found: Iterable[Row], only: Sequence[str] = (), *, ci: bool = False) -> list[Row]:
    """The rows that are asked for: by name, the pruned set, or all."""
    every = list(found)
    if missing := sorted({*only} - {row.name for row in every}):
        raise Unknown(f"no row is called {', '.join(missing)}; there are {', '.join(row.name for row in every)}")
    return [row for row in every if (not only or row.name in only) and (row.ci or not ci)]


def _row(entry: dict[str, Any]) -> Row:
    lists = {name: tuple(entry[name]) for name in ("requirements", "suites")}
    return Row(**{**entry, **lists})
