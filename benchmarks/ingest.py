"""Spans per second that are acknowledged durably: over OTLP/HTTP and gRPC, and by the same pipeline without either.

``python -m benchmarks.ingest --seconds 10`` starts the real receiver as a process of its own on a new file for each:
protobuf and JSON over HTTP, gRPC, and a steady stream of few spans whose acknowledgements are timed.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

import grpc

from benchmarks.agentlike import request
from spanwise_collector.otlp.rendering import document
from spanwise_collector.receiver import Bound
from spanwise_collector.store import Store

Send: TypeAlias = Callable[[bytes], None]

_BODIES: Final = 64  # distinct requests, sent in turn
_DOCUMENTS: Final = 8
_FEW: Final = 64  # spans in each request of a steady stream


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
    parser.add_argument("--rate", type=int, default=5_000, help="spans a second of the steady stream")
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
        "http": _measure(load, _poster),
        "grpc": _measure(load, _caller),
        "json": _measure(replace(load, bodies=[document(body) for body in bodies[:_DOCUMENTS]]), _document_poster),
        f"steady_{options.rate}_per_s": _measure(_steady(options), _poster, options.rate),
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


def _steady(options: argparse.Namespace) -> Load:
    bodies = [request(_FEW, seed=seed) for seed in range(_BODIES)]
    return Load(bodies, _FEW, options.connections, options.seconds)


def _measure(load: Load, sender: Callable[[Bound], Send], rate: int = 0) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spans.db"
        with _server(file) as bound:
            result = _run(load, lambda: sender(bound), rate)
        return {**result, "file_bytes_per_span": _size(file, result)}


@contextmanager
def _server(file: Path) -> Iterator[Bound]:
    command = [sys.executable, "-m", "spanwise_collector", "--db", str(file), "--http-port", "0", "--grpc-port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None  # noqa: S101  # it is a pipe
    try:
        yield Bound(**json.loads(process.stdout.readline()))
    finally:
        process.terminate()
        process.communicate()


def _caller(bound: Bound) -> Send:
    # Without the option all channels of a process share one connection.
    channel = grpc.insecure_channel(bound.grpc, options=[("grpc.use_local_subchannel_pool", 1)])
    call = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")

    def send(body: bytes) -> None:
        call(body)

    return send


def _document_poster(bound: Bound) -> Send:
    return _poster(bound, "application/json")


def _poster(bound: Bound, media_type: str = "application/x-protobuf") -> Send:
    connection = http.client.HTTPConnection(bound.http.removeprefix("http://"))

    def post(body: bytes) -> None:
        connection.request("POST", "/v1/traces", body, {"Content-Type": media_type})
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"answered {answer.status}")

    return post


def _run(load: Load, sender: Callable[[], Send], rate: int = 0) -> dict[str, float]:
    """Each connection sends one request after the other and waits for its acknowledgement.

    With a rate they send so many spans a second together, and a request that has to wait for the one before it has
    waited since it was due.
    """
    latencies: list[float] = []
    start = time.perf_counter()
    deadline = start + load.seconds
    turns = [itertools.cycle(load.bodies[number :: load.connections]) for number in range(load.connections)]
    pause = load.spans * load.connections / rate if rate else 0.0
    threads = [threading.Thread(target=_send, args=(sender(), turn, deadline, pause, latencies)) for turn in turns]
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


def _send(send: Send, bodies: Iterator[bytes], deadline: float, pause: float, latencies: list[float]) -> None:
    due = time.perf_counter() + random.uniform(0, pause)  # noqa: S311  # so that they do not send in step
    while (now := time.perf_counter()) < deadline:
        if pause and now < due:
            time.sleep(due - now)
        start = due if pause else now
        send(next(bodies))
        latencies.append(time.perf_counter() - start)
        due += pause


def _size(file: Path, result: dict[str, float]) -> float:
    return round(file.stat().st_size / result["spans"], 1)


if __name__ == "__main__":
    main()
