"""What tracing costs the traced program: per model call, per MCP call, at import, at exit, over many calls.

``python -m benchmarks.instrumentation`` measures all ways to trace in one process, in turn and in random order. Other
instrumentors take part where they are installed; the times are of the caller's thread, exporting is not in them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from opentelemetry.sdk.trace import TracerProvider

from benchmarks.arms import Arm, Kept, global_provider, mcp_arms, model_arms
from benchmarks.calls import McpCalls, ModelCalls, Took
from benchmarks.startup import absent_collector, growth, imports

_KILOBYTES = (2, 12, 52, 102)


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(prog="benchmarks.instrumentation", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=20, help="calls of one arm in one round")
    parser.add_argument("--only", choices=["model_call", "mcp_call"], help="nothing but this")
    parser.add_argument("--many", type=int, default=100_000, help="calls after which memory is looked at")
    options = parser.parse_args()
    turns = _Turns(*global_provider(), options.rounds, options.calls)
    measured = _only(turns, options.only) if options.only else _everything(turns, options.many)
    print(json.dumps(asyncio.run(measured), indent=2))


async def _only(turns: _Turns, what: str) -> dict[str, Any]:
    return {what: await (_model_calls if what == "model_call" else _mcp_calls)(turns)}


async def _everything(turns: _Turns, many: int) -> dict[str, Any]:
    return {
        "python": sys.version.split()[0],
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "import_ms": imports(),
        "model_call": await _model_calls(turns),
        "mcp_call": await _mcp_calls(turns),
        "collector_absent": absent_collector(),
        "growth": growth(many),
    }


class _Turns:
    """Measures arms in turn, in a new random order each round."""

    def __init__(self, provider: TracerProvider, kept: Kept, rounds: int, calls: int) -> None:
        self._provider, self._kept, self._rounds, self._calls = provider, kept, rounds, calls
        self._random = random.Random(20261201)  # noqa: S311 - an order, no secret

    async def measure(self, arms: Sequence[Arm], timed: Callable[[int], Awaitable[Took]]) -> dict[str, Any]:
        """Times, spans and bytes per call of each arm."""
        times: dict[str, list[Took]] = defaultdict(list)
        exported: dict[str, tuple[int, int]] = {}
        for _ in range(self._rounds):
            for arm in self._random.sample(arms, len(arms)):
                with arm.on(self._provider):
                    await timed(3)  # what is made on first use
                    self._kept.taken()
                    times[arm.name].append(await timed(self._calls))
                    exported[arm.name] = self._kept.taken()
        first = times[arms[0].name]
        return {arm.name: self._result(times[arm.name], first, *exported[arm.name]) for arm in arms}

    def _result(self, times: Sequence[Took], first: Sequence[Took], spans: int, nbytes: int) -> dict[str, float]:
        """Medians over the rounds in microseconds; ``added`` is what this arm took longer than the first one."""
        found: dict[str, float] = {}
        for clock in ("wall", "thread", "process"):
            took = [getattr(time, clock) / self._calls * 1e6 for time in times]
            plain = [getattr(time, clock) / self._calls * 1e6 for time in first]
            added = statistics.median(mine - none for mine, none in zip(took, plain, strict=True))
            found |= {f"{clock}_us": round(statistics.median(took), 1), f"added_{clock}_us": round(added, 1)}
        return {**found, "spans": spans / self._calls, "bytes": round(nbytes / self._calls)}


async def _model_calls(turns: _Turns) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kilobytes in _KILOBYTES:
        calls = ModelCalls(kilobytes * 1000)
        found[f"{kilobytes}_kB"] = await turns.measure(model_arms(), calls.timed)
    official = found["2_kB"].get("genai-openai")
    ours = [found[f"{kilobytes}_kB"]["spanwise"]["added_wall_us"] for kilobytes in _KILOBYTES]
    return {
        **found,
        "ratio_to_official_at_2_kB": official and round(ours[0] / official["added_wall_us"], 2),
        "added_us_per_further_10_kB": round((ours[-1] - ours[0]) / (_KILOBYTES[-1] - _KILOBYTES[0]) * 10, 1),
    }


async def _mcp_calls(turns: _Turns) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for transport in ("in-process", "stdio", "http"):
        async with McpCalls.over(transport) as calls:
            result = await turns.measure(mcp_arms(), calls.timed)
        found[transport] = {
            **result,
            "ratio_to_native": round(result["spanwise"]["wall_us"] / result["native"]["wall_us"], 2),
        }
    return found


if __name__ == "__main__":
    main()
