"""``spanwise doctor``: what is installed, where spans would go, and whether anybody takes them there."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

from opentelemetry.sdk.environment_variables import OTEL_SDK_DISABLED

from spanwise.endpoint import GRPC, endpoint
from spanwise.safety import RAISE_VARIABLE
from spanwise.tracer import release

LIBRARIES = ("openai", "mcp", "httpx", "httpx2", "opentelemetry-sdk", "opentelemetry-instrumentation-httpx")
_CONNECT_LIMIT = 2.0  # s


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; ``ok`` None means that it is no matter of right and wrong."""

    ok: bool | None
    text: str


def main(arguments: Sequence[str]) -> int:
    """Print the findings. 0 if spans would arrive, 1 if not."""
    if arguments:
        sys.stdout.write("usage: spanwise doctor\n")
        return 0 if arguments[0] in ("-h", "--help") else 2
    findings = list(examine(os.environ))
    for finding in findings:
        sys.stdout.write(f"{_SIGNS[finding.ok]} {finding.text}\n")
    return 1 if any(finding.ok is False for finding in findings) else 0


def examine(environ: Mapping[str, str]) -> Iterator[Finding]:
    """What can be seen from outside the agent."""
    yield Finding(None, f"spanwise {release()}, Python {sys.version.split()[0]}")
    for name in LIBRARIES:
        yield Finding(None, f"{name} {_version(name)}")
    if environ.get(OTEL_SDK_DISABLED, "").strip().lower() == "true":
        yield Finding(ok=False, text=f"{OTEL_SDK_DISABLED}=true: nothing is traced")
    if environ.get(RAISE_VARIABLE) == "1":
        yield Finding(ok=False, text=f"{RAISE_VARIABLE}=1: faults of the instrumentation reach the agent")
    yield _reachable(environ)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _reachable(environ: Mapping[str, str]) -> Finding:
    target = endpoint(None, environ)
    if target is None:
        return Finding(ok=False, text="OTEL_TRACES_EXPORTER=none: spans are not sent anywhere")
    place = urlsplit(target.url if "://" in target.url else f"//{target.url}")
    port = place.port or (443 if place.scheme == "https" else 4317 if target.protocol == GRPC else 80)
    try:
        socket.create_connection((place.hostname or "", port), _CONNECT_LIMIT).close()
    except OSError as error:
        return Finding(ok=False, text=f"{target.url}: nobody listens ({error}); start one with: spanwise serve")
    return Finding(ok=True, text=f"{target.url}: reachable ({target.protocol})")


_SIGNS = {True: "ok  ", False: "FAIL", None: "    "}
