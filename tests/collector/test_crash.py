from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from spanwise_collector.store import DatabaseInUse, Store

_REQUESTS_BEFORE_THE_KILL = 40


def _serve(database: Path) -> tuple[subprocess.Popen[str], str]:
    command = [
        sys.executable,
        "-m",
        "spanwise_collector",
        "--db",
        str(database),
        "--grpc-port",
        "0",
        "--http-port",
        "0",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())["http"].removeprefix("http://")


class _Load:
    """Threads that send batches until the server dies; ``acked`` are traces whose batch was answered."""

    def __init__(self, netloc: str, otlp: Any) -> None:
        self._netloc = netloc
        self._otlp = otlp
        self._lock = threading.Lock()
        self._sent = 0
        self.acked: list[str] = []
        self.enough = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(4)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        connection = http.client.HTTPConnection(self._netloc, timeout=10)
        try:
            while self._send(connection):
                pass
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def _send(self, connection: http.client.HTTPConnection) -> bool:
        with self._lock:
            self._sent += 1
            trace = f"{self._sent:032x}"
            body = self._otlp.body(*(self._otlp.span(trace=trace) for _ in range(50)))
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        answer = connection.getresponse()
        answer.read()
        with self._lock:
            self.acked += [trace] if answer.status == 200 else []
            if len(self.acked) >= _REQUESTS_BEFORE_THE_KILL:
                self.enough.set()
        return True


def test_after_kill_9_in_mid_load_every_acknowledged_span_is_there_once(tmp_path: Path, otlp: Any) -> None:
    database = tmp_path / "spans.db"
    process, netloc = _serve(database)
    load = _Load(netloc, otlp)
    try:
        assert load.enough.wait(30)
    finally:
        process.kill()
        process.communicate()
        load.join()
    assert process.returncode == -signal.SIGKILL
    store = Store.open(database)
    try:
        assert store.damage is None
        reader = store.reader()
        found = {trace: reader.trace(trace) for trace in load.acked}
        assert {50} == {len(spans) for spans in found.values()}
        assert {50} == {len({span.key for span in spans}) for spans in found.values()}
    finally:
        store.close()


def test_a_second_process_is_told_who_owns_the_file_and_the_first_drains_on_sigterm(tmp_path: Path, otlp: Any) -> None:
    """D-42: one clear line and a non-zero code; the first keeps working."""
    database = tmp_path / "spans.db"
    process, netloc = _serve(database)
    try:
        with pytest.raises(DatabaseInUse, match="one process owns the file"):
            Store.open(database)
        connection = http.client.HTTPConnection(netloc, timeout=10)
        headers = {"Content-Type": "application/x-protobuf"}
        connection.request("POST", "/v1/traces", otlp.body(otlp.span()), headers)
        assert connection.getresponse().status == 200
        connection.close()
    finally:
        process.terminate()
        process.communicate(timeout=20)
    assert process.returncode == 0
    store = Store.open(database)
    assert store.reader().seq() == 1
    store.close()
