"""What is installed, and whether our seams were checked with these versions."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from spanwise.doctor.finding import Finding
from spanwise.supported import SDKS, Release, Supported
from spanwise.tracer import release

OTHERS = (
    "httpx",
    "httpx2",
    "aiohttp",
    "opentelemetry-sdk",
    "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry-exporter-otlp-proto-grpc",
    "opentelemetry-instrumentation-httpx",
)


def installed(name: str) -> str | None:
    """The installed version of a distribution."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def findings() -> Iterator[Finding]:
    """This Python, this package, the SDKs, and what carries their requests."""
    yield Finding(None, f"Python {sys.version.split()[0]} ({sys.executable})")
    yield Finding(None, f"spanwise {release()}")
    for name, supported in SDKS.items():
        yield judged(name, installed(name), supported)
    if not any(installed(name) for name in SDKS):
        yield Finding(
            None,
            "neither openai nor mcp is installed here: there is nothing to trace but your own marks",
            "run spanwise doctor with the Python of the agent's own environment",
        )
    yield from (Finding(None, f"{name} {found}") for name in OTHERS if (found := installed(name)))


def judged(name: str, found: str | None, supported: Supported) -> Finding:
    """What is to be said about the ``found`` version of an SDK."""
    if found is None:
        return Finding(None, f"{name}: not installed")
    number = _numbers(found)
    if number < supported.first:
        return Finding(
            ok=False,
            text=f"{name} {found}: too old, {supported} is supported; its calls may go unseen",
            remedy=f"pip install '{supported.requirement(name).replace(' ', '')}'",
        )
    if number[0] > supported.last:
        return Finding(
            None,
            f"{name} {found}: newer than what was checked ({supported}); what moved there is not traced",
            "compare one conversation with and without: nothing breaks, but spans may be missing",
        )
    return Finding(ok=True, text=f"{name} {found} (supported: {supported})")


def _numbers(text: str) -> Release:
    return tuple(int(digits) for digits in re.match(r"\d+(\.\d+)*|", text)[0].split(".") if digits) or (0,)  # type: ignore[index] # the empty alternative always matches
