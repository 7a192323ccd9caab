"""More is sent than the process may keep in memory."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.collector.faults.load import loading, request
from tests.collector.faults.served import held, serving, until

from spanwise_collector.receiver import memory
from spanwise_collector.receiver.memory import MemoryGuard
from spanwise_collector.store import Overloaded, Store

_MIB = 2**20
_LIMIT = 400 * _MIB
_REQUESTS = 6  # of 5 to 30 MB


def test_many_slow_big_requests_do_not_make_the_process_grow(tmp_path: Path) -> None:
    """Sixty senders stop half-way through 30 MiB each; what is sent beside them is stored all the same, or later."""
    db = tmp_path / "spans.db"
    with serving(db, alone=True, SPANWISE_MAX_MEMORY_BYTES=str(_LIMIT)) as server:
        slow, peak = [_half_sent(server.http, 30 * _MIB, 15 * _MIB) for _ in range(60)], _Peak(server)
        with loading(server, payload="p" * 2000) as load:
            load.more(20)
            for connection in slow:
                connection.close()
            load.more(20)
        highest = peak.stop()
        server.kill()
    counts = load.counts(held(db))
    sys.stdout.write(f"most resident: {highest / _MIB:.0f} MiB\n")
    assert counts.missing == 0
    assert highest < _LIMIT


@pytest.mark.soak
def test_above_the_limit_requests_are_refused_for_now_and_arrive_later(tmp_path: Path) -> None:
    db = tmp_path / "spans.db"
    with serving(db, SPANWISE_MAX_MEMORY_BYTES=str(1000 * _MIB)) as server:
        with loading(server, senders=1) as load:
            load.more(5)
        limit = int(server.rss_bytes * 1.1)  # the soft limit is below what it has by now
        server.kill()
    with serving(db, SPANWISE_MAX_MEMORY_BYTES=str(limit)) as server:
        with loading(server, payload="p" * 5000, senders=1) as load:
            load.refused()
            status, checks = server.readiness()
            assert (status, "SPANWISE_MAX_MEMORY_BYTES" in (checks["memory"] or "")) == (503, True)
        assert server.said.count("requests are refused for now") == 1
        server.kill()
    assert load.counts(held(db)).missing == 0


def test_the_engine_out_of_memory_refuses_for_now_and_takes_what_fits(store: Store) -> None:
    store.economise(20 * _MIB)
    refused = 0
    for number in range(1, _REQUESTS + 1):
        try:
            store.submit(request(number, "p" * 100_000 * number)).result(60)
        except Overloaded:
            refused += 1
    store.economise(1000 * _MIB)
    sizes = [len(store.reader().trace(f"{number:032x}")) for number in range(1, _REQUESTS + 1)]
    assert (refused, set(sizes)) == (sizes.count(0), {0, 50})
    assert refused > 0
    store.submit(request(_REQUESTS, "p" * 100_000 * _REQUESTS)).result(60)
    until(lambda: store.ready, "takes requests again")


def test_a_big_request_is_refused_before_it_is_decoded() -> None:
    guard = MemoryGuard(memory.resident() + 20 * _MIB)
    guard.admit(4 * _MIB)
    with pytest.raises(Overloaded, match="SPANWISE_MAX_MEMORY_BYTES"):
        guard.admit(6 * _MIB)
    assert guard.trouble is None


def test_the_limit_of_the_process_counts_where_none_is_set() -> None:
    program = "from spanwise_collector.receiver.memory import MemoryGuard as G; print(G().limit)"
    command = ["sh", "-c", f'ulimit -v 4000000 && exec {sys.executable} -c "{program}"']
    environ = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    assert int(answer.stdout) <= 4_000_000 * 1024 * 0.8


def _half_sent(netloc: str, size: int, sent: int) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(netloc, timeout=60)
    connection.putrequest("POST", "/v1/traces")
    connection.putheader("Content-Type", "application/x-protobuf")
    connection.putheader("Content-Length", str(size))
    connection.endheaders()
    try:
        connection.send(b"x" * sent)
    except OSError:  # refused half-way
        connection.close()
    return connection


class _Peak:
    """The most memory that a server had at any time."""

    def __init__(self, server: Any) -> None:
        self._server, self._highest, self._stop = server, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> int:
        self._stop.set()
        self._thread.join()
        return self._highest

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self._highest = max(self._highest, self._server.rss_bytes)
