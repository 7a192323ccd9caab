"""Whether a store of many spans is as fast, as small and as frugal as an empty one.

``python -m benchmarks.growth --spans 10000000`` fills a new file, each request with new traces, and prints
rate, bytes a span and resident memory at each tenth; the reference is the first tenth.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.agentlike import Template
from spanwise_collector.store import Accepted, Store

_SPANS: Final = 512  # in each request
_TEMPLATES: Final = 16
_IN_FLIGHT: Final = 16  # requests; each sender waits for its acknowledgement
_TENTHS: Final = 10
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Tenth:
    """What one tenth of the spans took, and what the file and the process have grown to."""

    spans: int
    spans_per_s: int
    bytes_per_span: float
    resident_mib: int
    slowest_ack_ms: float


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(prog="benchmarks.growth", description=__doc__)
    parser.add_argument("--spans", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tenths = list(_measure(Path(folder) / "spans.db", options.spans))
    print(
        json.dumps(
            {
                "cores": os.cpu_count(),
                "load_before": os.getloadavg()[0],
                "tenths": [asdict(tenth) for tenth in tenths],
                "last_to_first": round(tenths[-1].spans_per_s / tenths[0].spans_per_s, 3),
            },
            indent=2,
        )
    )


def _measure(file: Path, spans: int) -> Iterator[Tenth]:
    store = Store.open(file)
    bodies = _bodies()
    try:
        for tenth in range(1, _TENTHS + 1):
            start = time.perf_counter()
            slowest = _fill(store, itertools.islice(bodies, spans // _TENTHS // _SPANS))
            elapsed = time.perf_counter() - start
            stored = tenth * (spans // _TENTHS // _SPANS) * _SPANS
            found = Tenth(
                stored,
                round(stored / tenth / elapsed),
                round(_size(file) / stored, 1),
                _resident() // 2**20,
                round(slowest * 1e3, 1),
            )
            print(found, file=sys.stderr)
            yield found
    finally:
        store.close()


def _bodies() -> Iterator[bytes]:
    rng = np.random.default_rng(1)
    for template in itertools.cycle([Template(_SPANS, seed=seed) for seed in range(_TEMPLATES)]):
        yield template.request(rng)


def _fill(store: Store, bodies: Iterator[bytes]) -> float:
    """Seconds that the slowest acknowledgement took."""
    waiting: deque[tuple[float, Future[Accepted]]] = deque()
    slowest = 0.0
    for body in bodies:
        waiting.append((time.perf_counter(), store.submit(body)))
        if len(waiting) == _IN_FLIGHT:
            slowest = max(slowest, _waited(*waiting.popleft()))
    return max([slowest, *itertools.starmap(_waited, waiting)])


def _waited(since: float, future: Future[Any]) -> float:
    future.result()
    return time.perf_counter() - since


def _size(file: Path) -> int:
    return sum(each.stat().st_size for each in file.parent.iterdir())


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE


if __name__ == "__main__":
    main()
