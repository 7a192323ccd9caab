"""A real ``spanwise serve`` in a process of its own, and what its file holds afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanwise_collector.store import Store

PATIENCE_S = 60.0
_SERVE = ("spanwise_analyzer.serve", "--json", "--port", "0", "--otlp-grpc-port", "0", "--otlp-http-port", "0")
_COLLECT = ("spanwise_collector", "--grpc-port", "0", "--http-port", "0")  # no analyzer and no API: starts faster


@dataclass(frozen=True)
class Served:
    """A running server, where it listens, and the file of what it complains."""

    process: subprocess.Popen[str]
    api: str
    http: str  # host:port
    grpc: str
    complaints: Path
    command: Sequence[str]

    @property
    def said(self) -> str:
        """Everything on its standard error so far."""
        return self.complaints.read_text(encoding="utf-8")

    @property
    def rss_bytes(self) -> int:
        """Memory that is resident now."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of the API's answer."""
        try:
            with urllib.request.urlopen(self.api + path, timeout=PATIENCE_S) as answer:  # noqa: S310
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def readiness(self) -> tuple[int, dict[str, Any]]:
        """Status and checks of /readyz."""
        status, body = self.get("/readyz")
        return status, json.loads(body)["checks"]

    def kill(self) -> None:
        """End it as a power cut of the process would."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def end(self) -> int:
        """Ask it to end; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


def begin(db: Path, *, wrap: Sequence[str] = (), alone: bool = False, **environ: str) -> Served:
    """Start a server, or the collector alone, on free ports; ``wrap`` is a command that starts it in another way."""
    complaints = db.with_name(f"{db.name}.stderr")
    command = [*wrap, sys.executable, "-m", *(_COLLECT if alone else _SERVE), "--db", str(db)]
    with complaints.open("a", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, env={**os.environ, **environ}
        )
    assert process.stdout is not None
    with process.stdout:
        line = process.stdout.readline()
    assert line, complaints.read_text(encoding="utf-8")
    bound = json.loads(line)
    http, grpc = (bound[name] for name in (("http", "grpc") if alone else ("otlp_http", "otlp_grpc")))
    return Served(process, bound.get("api", ""), http.removeprefix("http://"), grpc, complaints, command)


@contextmanager
def serving(db: Path, *, wrap: Sequence[str] = (), alone: bool = False, **environ: str) -> Iterator[Served]:
    """A server for a block; killed at its end if it still runs."""
    server = begin(db, wrap=wrap, alone=alone, **environ)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


def until(true: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Look again and again until something is true."""
    deadline = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.02)


@contextmanager
def opened(db: Path) -> Iterator[Store]:
    """The store itself, once no server has it."""
    store = Store.open(db)
    try:
        yield store
    finally:
        store.close()


def held(db: Path) -> dict[int, int]:
    """Distinct spans by number of their trace."""
    sql = "SELECT trace_id, count(DISTINCT span_id) FROM spans GROUP BY trace_id"
    with opened(db) as store:
        assert store.damage is None
        return {int.from_bytes(trace, "big"): spans for trace, spans in store.reader()._rows(sql)}
