"""What the model and the MCP servers really did, by their own clocks: one JSON line for each request they served."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

VARIABLE = "EMITTED_LOGBOOK"


@dataclass(frozen=True, slots=True)
class Entry:
    """One request as its server saw it; times are ns since 1970, tokens those that it said it took."""

    what: str  # completions, embeddings, tools/call, tools/list, …, or local for a function of the application
    start_ns: int
    end_ns: int
    input: int = 0
    output: int = 0


@contextmanager
def noted(what: str) -> Iterator[Callable[[int, int], None]]:
    """Write down when the block began and ended, however it ended; the block may say its tokens."""
    began, used = time.time_ns(), [0, 0]

    def say(*tokens: int) -> None:
        used[:] = tokens

    try:
        yield say
    finally:
        _write(Entry(what, began, time.time_ns(), *used))


def read(book: Path) -> list[Entry]:
    """All entries, by their start."""
    lines = book.read_text(encoding="utf-8").splitlines()
    return sorted((Entry(**json.loads(line)) for line in lines), key=lambda entry: entry.start_ns)


def _write(entry: Entry) -> None:
    if VARIABLE in os.environ:
        with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as book:
            book.write(f"{json.dumps(asdict(entry))}\n")
