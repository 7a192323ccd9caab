"""What the model and the MCP servers really did, by their own clocks: one JSON line for each request they served."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

VARIABLE = "EMITTED_LOGBOOK"


@dataclass(frozen=True, slots=True)
class Entry:
    """One request as its server saw it; times are ns since 1970."""

    what: str  # chat, stream, embed, tools/call, tools/list, …, or local for a function of the application
    start_ns: int
    end_ns: int


@contextmanager
def noted(what: str) -> Iterator[None]:
    """Write down when the block began and ended, however it ended; nothing where nobody keeps a book."""
    began = time.time_ns()
    try:
        yield
    finally:
        line = json.dumps(asdict(Entry(what, began, time.time_ns())))
        if VARIABLE in os.environ:
            with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as book:
                book.write(f"{line}\n")


def read(book: Path) -> list[Entry]:
    """All entries, by their start."""
    lines = book.read_text(encoding="utf-8").splitlines()
    return sorted((Entry(**json.loads(line)) for line in lines), key=lambda entry: entry.start_ns)
