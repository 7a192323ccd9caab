"""How long answers take while spans arrive: one conversation, the list, and the attribution of an hour.

``python -m benchmarks.query --spans 1000000`` fills a file, serves it, waits until every conversation is accounted for,
then asks with nothing else to do (the reference) and again while 5,000 spans a second arrive.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from benchmarks.agentlike import Template
from spanwise_collector.store import Store

Ask: TypeAlias = Callable[[], str]  # the path of one question

_SPANS: Final = 512
_FEW: Final = 64
_BEHIND: Final = "spanwise_unaccounted_batches "
_PAUSE_S: Final = 0.2
_CONVERSATIONS: Final = 1000  # among which questions are drawn
_HOUR: Final = "since=2023-11-14T22:00:00Z&until=2023-11-14T23:00:00Z"
_TIMEOUT_S: Final = 3600.0


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(prog="benchmarks.query", description=__doc__)
    parser.add_argument("--spans", type=int, default=200_000)
    parser.add_argument("--questions", type=int, default=100, help="of each kind")
    parser.add_argument("--rate", type=int, default=5_000, help="spans a second that arrive")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spans.db"
        _fill(file, options.spans)
        with _served(file) as bound:
            print(json.dumps(_measured(bound, options), indent=2))


def _measured(bound: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    start = time.perf_counter()
    while _behind(bound["api"]):
        time.sleep(_PAUSE_S)
    listed = json.loads(_get(bound["api"], f"/api/v1/conversations?limit={_CONVERSATIONS}"))
    drained = time.perf_counter() - start
    questions = _questions([row["conversation_id"] for row in listed["conversations"]])
    alone = _asked(bound["api"], questions, options.questions)
    with _arriving(bound["otlp_http"], options.rate):
        busy = _asked(bound["api"], questions, options.questions)
    return {
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "spans": options.spans,
        "first_accounts_s": round(drained, 1),
        "accounted_spans_per_s": round(options.spans / drained),
        "alone_ms": alone,
        f"while_{options.rate}_spans_per_s_arrive_ms": busy,
    }


def _behind(url: str) -> bool:
    metrics = _get(url, "/metrics").decode().splitlines()
    return any(line.startswith(_BEHIND) and float(line.split()[1]) > 0 for line in metrics)


def _questions(conversations: Sequence[str]) -> dict[str, Ask]:
    rng = random.Random(1)  # noqa: S311  # reproducible, not secret
    return {
        "conversation": lambda: f"/api/v1/conversations/{rng.choice(conversations)}",
        "list": lambda: "/api/v1/conversations?limit=100",
        "attribution_of_an_hour": lambda: f"/api/v1/attribution?group_by=stage,model&{_HOUR}",
    }


def _asked(url: str, questions: dict[str, Ask], number: int) -> dict[str, dict[str, float]]:
    found = {}
    for name, ask in questions.items():
        took = sorted(_timed(url, ask()) for _ in range(number))
        found[name] = {"p50": round(took[number // 2], 1), "p95": round(took[int(number * 0.95)], 1)}
    return found


def _timed(url: str, path: str) -> float:
    start = time.perf_counter()
    _get(url, path)
    return (time.perf_counter() - start) * 1e3


def _get(url: str, path: str) -> bytes:
    with urllib.request.urlopen(url + path, timeout=_TIMEOUT_S) as answer:  # noqa: S310  # our own server
        found: bytes = answer.read()
        return found


def _fill(file: Path, spans: int) -> None:
    store, rng = Store.open(file), np.random.default_rng(1)
    templates = [Template(_SPANS, seed=seed) for seed in range(8)]
    try:
        for number in range(spans // _SPANS):
            future = store.submit(templates[number % len(templates)].request(rng))
        future.result()
    finally:
        store.close()


@contextmanager
def _served(file: Path) -> Iterator[dict[str, Any]]:
    ports = ["--port", "0", "--otlp-http-port", "0", "--otlp-grpc-port", "0"]
    command = [sys.executable, "-m", "spanwise_analyzer.serve", "--db", str(file), "--json", *ports]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None  # noqa: S101  # it is a pipe
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def _arriving(url: str, rate: int) -> Iterator[None]:
    """New conversations arrive at this rate inside the block."""
    over = threading.Event()
    thread = threading.Thread(target=_send, args=(url.removeprefix("http://"), rate, over))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _send(netloc: str, rate: int, over: threading.Event) -> None:
    connection, rng = http.client.HTTPConnection(netloc), np.random.default_rng(2)
    template, due = Template(_FEW, seed=1), time.perf_counter()
    while not over.wait(max(0.0, due - time.perf_counter())):
        connection.request("POST", "/v1/traces", template.request(rng), {"Content-Type": "application/x-protobuf"})
        connection.getresponse().read()
        due += _FEW / rate


if __name__ == "__main__":
    main()
