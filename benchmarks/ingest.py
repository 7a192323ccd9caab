"""Spans per second that are acknowledged durably: over OTLP/HTTP, and by the same pipeline without HTTP.

``python -m benchmarks.ingest --seconds 10`` starts the real receiver as a process of its own on a new file.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.agentlike import request
from spanwise_collector.store import Store

Send: TypeAlias = Callable[[bytes], None]

_BODIES: Final = 64  # distinct requests, sent in turn
_HEADERS: Final = {"Content-Type": "application/x-protobuf"}


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent, by how many senders, for how long."""

    bodies: Sequence[bytes]
    spans: int  # in each request
    connections: int
    seconds: float


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(prog="benchmarks.ingest", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--spans", type=int, default=512, help="spans in each request")
    options = parser.parse_args()
    bodies = [request(options.spans, seed=seed) for seed in range(_BODIES)]
    load = Load(bodies, options.spans, options.connections, options.seconds)
    result = {
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "connections": load.connections,
        "spans_per_request": load.spans,
        "bytes_per_span": round(sum(map(len, bodies)) / len(bodies) / load.spans, 1),
        "in_process": _measure_in_process(load),
        "http": _measure_http(load),
    }
    print(json.dumps(result, indent=2))


def _measure_in_process(load: Load) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spans.db"
        store = Store.open(file)
        try:
            result = _run(load, lambda: lambda body: _committed(store, body))
        finally:
            store.close()
        return {**result, "file_bytes_per_span": _size(file, result)}


def _committed(store: Store, body: bytes) -> None:
    store.submit(body).result()


def _measure_http(load: Load) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spans.db"
        with _server(file) as netloc:
            result = _run(load, lambda: _poster(netloc))
        return {**result, "file_bytes_per_span": _size(file, result)}


@contextmanager
def _server(file: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "spanwise_collector", "--db", str(file), "--http-port", "0", "--grpc-port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None  # noqa: S101  # it is a pipe
    try:
        yield json.loads(process.stdout.readline())["http"].removeprefix("http://")
    finally:
        process.terminate()
        process.communicate()


def _poster(netloc: str) -> Send:
    connection = http.client.HTTPConnection(netloc)

    def post(body: bytes) -> None:
        connection.request("POST", "/v1/traces", body, _HEADERS)
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"answered {answer.status}")

    return post


def _run(load: Load, sender: Callable[[], Send]) -> dict[str, float]:
    """Each connection sends one request after the other and waits for its acknowledgement."""
    latencies: list[float] = []
    start = time.perf_counter()
    deadline = start + load.seconds
    turns = [itertools.cycle(load.bodies[number :: load.connections]) for number in range(load.connections)]
    threads = [threading.Thread(target=_send, args=(sender(), turn, deadline, latencies)) for turn in turns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - start
    ordered = sorted(latencies)
    return {
        "spans_per_s": round(len(ordered) * load.spans / elapsed),
        "spans": len(ordered) * load.spans,
        "seconds": round(elapsed, 2),
        "ack_p50_ms": round(ordered[len(ordered) // 2] * 1e3, 1),
        "ack_p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1e3, 1),
    }


def _send(send: Send, bodies: Iterator[bytes], deadline: float, latencies: list[float]) -> None:
    while (start := time.perf_counter()) < deadline:
        send(next(bodies))
        latencies.append(time.perf_counter() - start)


def _size(file: Path, result: dict[str, float]) -> float:
    return round(file.stat().st_size / result["spans"], 1)


if __name__ == "__main__":
    main()
