"""Runs the agent beside each neighbour against real servers, and reads back what the collector makes of its spans."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spanwise_collector.receiver import Bound, Receiver
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.span import Span
from spanwise_collector.store import Store

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0  # s; importing everything in a cold environment takes its time

# Tests are collected without being packages; what they share is imported by its path from the root.
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from subprocess import Popen

Run = Callable[[str, str], "Seen"]


@dataclass(frozen=True, slots=True)
class Collector:
    """A running receiver and its store."""

    store: Store
    bound: Bound

    def spans(self, conversation: str) -> list[Span]:
        """The spans of one conversation."""
        return self.store.reader().spans(conversation)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the agent saw of each of its works, what it and its servers complained of, and where its spans are."""

    neighbour: str
    arm: str
    records: dict[str, list[str]]
    complaints: str
    collector: Collector

    def spans(self, work: str) -> list[Span]:
        """The spans of one work."""
        return self.collector.spans(f"{self.neighbour}/{self.arm}/{work}")


@pytest.fixture(scope="session")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """Takes the spans of all processes."""
    store = Store.open(tmp_path_factory.mktemp("beside") / "spans.duckdb")
    receiver = Receiver(store, ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0))
    yield Collector(store, receiver.start())
    receiver.stop()
    store.close()


@pytest.fixture(scope="session")
def run(collector: Collector) -> Run:
    """Runs the agent beside a neighbour, each arm once."""
    from tests.matrix.beside import model

    done: dict[tuple[str, str], Seen] = {}

    def run_once(neighbour: str, arm: str) -> Seen:
        if (neighbour, arm) not in done:
            with model.serving() as url:  # a new one, so that its answers are numbered alike
                done[neighbour, arm] = _run(collector, url, (neighbour, arm))
        return done[neighbour, arm]

    return run_once


def _run(collector: Collector, model_url: str, what: tuple[str, str]) -> Seen:
    from tests.matrix.beside import neighbours

    environment = environ(collector) | neighbours.settings(what[1]) | {"MODEL_URL": model_url}
    with _tools(environment, what) as url:
        ended = execute(
            [*neighbours.command(what[1]), "tests.matrix.beside.agent", *what], environment | {"MCP_URL": url}
        )
    assert ended.returncode == 0, ended.stderr
    return Seen(*what, json.loads(ended.stdout.splitlines()[-1]), ended.stderr, collector)


def execute(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program of these cells to its end."""
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def environ(collector: Collector) -> dict[str, str]:
    """The environment of a program that exports to the collector."""
    return environ_without_endpoint() | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.bound.http}


def environ_without_endpoint() -> dict[str, str]:
    """Without what would make two runs differ."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "SPANWISE_"))}
    return kept | {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none", "SPANWISE_RAISE": "1"}


@contextmanager
def _tools(environment: dict[str, str], what: Sequence[str]) -> Iterator[str]:
    from tests.matrix.beside import neighbours

    command = [*neighbours.command(what[1]), "tests.matrix.beside.server", *what, "http"]
    environment = environment | {"OTEL_SERVICE_NAME": "tools"}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        yield f"http://127.0.0.1:{_port(process)}/mcp"
        process.communicate(timeout=PATIENCE)  # it ends with its input, and sends what it still has


def _port(process: Popen[str]) -> int:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.strip().isdigit(), process.communicate()[1]
    return int(line)
