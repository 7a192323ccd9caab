"""What tracing costs at the two ends of a process, where nobody takes the spans, and over very many calls."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any, Final

_REPEATS: Final = 9
_SDK: Final = "import opentelemetry.sdk.trace, opentelemetry.sdk.trace.export"
_STATEMENTS: Final = {
    "python": "pass",
    "otel_sdk": _SDK,
    "otel_sdk_and_spanwise": f"{_SDK}; import spanwise",
    "otel_sdk_and_instrument": f"{_SDK}; import spanwise; spanwise.instrument",
}
_CALL_SECONDS: Final = 0.02
_CALLS: Final = 100


def imports() -> dict[str, float]:
    """Milliseconds of an interpreter that runs each statement."""
    seconds: dict[str, list[float]] = {name: [] for name in _STATEMENTS}
    for _ in range(_REPEATS):
        for name, statement in _STATEMENTS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            seconds[name].append(time.perf_counter() - start)
    found = {name: round(statistics.median(values) * 1e3, 1) for name, values in seconds.items()}
    return {**found, "added_by_spanwise": round(found["otel_sdk_and_instrument"] - found["otel_sdk"], 1)}


def absent_collector() -> dict[str, float]:
    """How much an agent is slowed, and how long its end takes, where nothing listens at the endpoint."""
    plain, traced = (_child("slowed", arm) for arm in ("none", "spanwise"))
    return {
        "calls": _CALLS,
        "seconds_without": plain["seconds"],
        "seconds_with": traced["seconds"],
        "slowed_by": round(traced["seconds"] / plain["seconds"] - 1, 4),
        "exit_seconds_without": plain["exit_seconds"],
        "exit_seconds_with": traced["exit_seconds"],
    }


def growth(calls: int) -> dict[str, Any]:
    """Resident memory in megabytes after a tenth of ``calls`` and after all of them."""
    return {kind: _child("grown", kind, str(calls)) for kind in ("model", "mcp")} if calls else {}


def _child(*arguments: str) -> dict[str, float]:
    with subprocess.Popen([sys.executable, "-mbenchmarks.lifetime", *arguments], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None  # noqa: S101 - a pipe
        found: dict[str, float] = json.loads(process.stdout.readline())
        said = time.perf_counter()
        process.wait()
        if process.returncode:
            raise RuntimeError(f"{arguments} ended with {process.returncode}")
        return {**found, "exit_seconds": round(time.perf_counter() - said, 2)}
