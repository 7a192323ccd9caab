"""A traced process that is looked at from outside: see ``benchmarks.startup``."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
import openai

import spanwise
from benchmarks.calls import ANSWER, McpCalls, ModelCalls, Took

_MEGABYTE = 1024 * 1024


def slowed(arm: str) -> dict[str, float]:
    """Seconds of 100 model calls of 20 ms."""
    if arm == "spanwise":
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        spanwise.instrument(endpoint=f"http://127.0.0.1:{port}")
    client = openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(_slow)))
    client.models.with_raw_response.list()
    start = time.perf_counter()
    for _ in range(100):
        client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Where is my order?"}])
    return {"seconds": round(time.perf_counter() - start, 3)}


def grown(kind: str, calls: int) -> dict[str, float]:
    """Resident megabytes after a tenth of the calls and after all; spans go to an exporter that drops them."""
    from opentelemetry.sdk.trace import TracerProvider

    spanwise.instrument(tracer_provider=TracerProvider())
    return asyncio.run(_grown(kind, calls))


async def _grown(kind: str, calls: int) -> dict[str, float]:
    if kind == "model":
        return await _watched(ModelCalls(2000, wait=0).timed, calls)
    async with McpCalls.over("in-process") as mcp:
        return await _watched(mcp.timed, calls)


async def _watched(timed: Callable[[int], Awaitable[Took]], calls: int) -> dict[str, float]:
    await _repeated(timed, calls // 10)
    early = _resident()
    await _repeated(timed, calls - calls // 10)
    return {"calls": calls, "mb_after_a_tenth": early, "mb_after_all": _resident(), "mb_peak": _peak()}


async def _repeated(timed: Callable[[int], Awaitable[Took]], calls: int) -> None:
    for _ in range(calls // 100):
        await timed(100)


def _slow(_request: httpx2.Request) -> httpx2.Response:
    time.sleep(0.02)
    return httpx2.Response(200, json=ANSWER)


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * resource.getpagesize() / _MEGABYTE, 1)


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


if __name__ == "__main__":
    job, subject = sys.argv[1:3]
    print(json.dumps(slowed(subject) if job == "slowed" else grown(subject, int(sys.argv[3]))), flush=True)
