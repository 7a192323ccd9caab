"""A model, a place for spans, and the snippets of the documentation as programs."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Tests are collected without being packages; what they share is imported from their folder.
sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from tests.matrix.frameworks.sink import Seen, Sink

SNIPPETS = Path(__file__).parents[3] / "docs" / "snippets"
PATIENCE = 60.0  # s, for a program with its imports

Play = Callable[..., "Played"]


@dataclass(frozen=True, slots=True)
class Played:
    """What a program printed, and the spans of all processes that took part."""

    printed: str
    spans: list[Seen]


@pytest.fixture(scope="session")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """Runs a snippet, or ``program`` beside it, with one of the servers; the same run is not made twice."""
    sink: Sink = importlib.import_module("sink").Sink()
    with importlib.import_module("model").serving() as model, sink.serving() as collector:

        @cache
        def played(agent: str, server: str, program: str | None = None, **environ: str) -> Played:
            sink.spans.clear()
            folder = tmp_path_factory.mktemp("snippet")
            shutil.copy(SNIPPETS / agent, folder / agent)
            shutil.copy(SNIPPETS / server, folder / "orders.py")
            variables = _plain() | {
                "OPENAI_BASE_URL": model,
                "OPENAI_API_KEY": "none",
                "OPENAI_AGENTS_DISABLE_TRACING": "1",  # it goes to the service, which is not there
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector,
                "SPANWISE_RAISE": "1",
                **environ,
            }
            arguments = [agent] if program is None else ["-c", program]
            return Played(_printed(folder, arguments, variables), list(sink.spans))

        yield played


def _printed(folder: Path, arguments: Sequence[str], environ: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "OPENAI_"))}
