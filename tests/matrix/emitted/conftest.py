"""Runs the errand in this environment, traced in each way that its packages allow, and keeps what was emitted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0  # s; importing everything in a cold environment takes its time
# The demo's servers need the newest MCP SDK, which the agent's environment may not have.
SERVERS = os.environ.get("MATRIX_PYTHON", sys.executable)

# Tests are collected without being packages; what they share is imported by its path from the root.
sys.path.insert(0, str(ROOT))

Record = Callable[[str], Path]


@pytest.fixture(scope="session")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Run the errand traced in this way; the folder of what it emitted."""
    from tests.matrix.emitted import recording
    from tests.matrix.emitted.ways import WAYS

    def run(name: str) -> Path:
        book = tmp_path_factory.mktemp(name) / "logbook"
        return recording.keep(name, WAYS[name], *_emitted(name, book))

    return run


def _emitted(name: str, book: Path) -> tuple[list[bytes], Path]:
    from tests.matrix.emitted import logbook, model, sink
    from tests.matrix.emitted.ways import WAYS

    way, kept = WAYS[name], list[bytes]()
    environ = _plain() | {logbook.VARIABLE: str(book)}
    with sink.serving(kept) as collector, _listening([SERVERS, "-m", "tests.matrix.emitted.model"], environ) as url:
        environ |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector, "OTEL_BSP_SCHEDULE_DELAY": "200"}
        environ |= {"OPENAI_BASE_URL": model.deploy(url), "OPENAI_API_KEY": "none"}
        python = sys.executable if way.server else SERVERS
        server = [python, "-m", "tests.matrix.emitted.server"]
        with _listening([*server, "stock", way.server], environ) as stock:
            environ |= {"STOCK_URL": stock, "ORDERS_COMMAND": json.dumps([*server, "orders", way.server])}
            ended = subprocess.run(
                [sys.executable, "-m", *way.program, f"errand-{name}"],
                cwd=ROOT,
                env=environ,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
    assert ended.returncode == 0, ended.stderr
    return kept, book


@contextmanager
def _listening(command: Sequence[str], environ: Mapping[str, str]) -> Iterator[str]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"{' '.join(command)} ended before it listened"
        yield json.loads(line)["url"]
        process.communicate(timeout=PATIENCE)  # it ends with its input, and sends what it still has


def _plain() -> dict[str, str]:
    foreign = ("OTEL_", "OPENAI_", "SPANWISE_", "LANGFUSE_", "TRACELOOP_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return kept | {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none", "TRACELOOP_METRICS_ENABLED": "false"}
