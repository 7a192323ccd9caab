"""``spanwise doctor``: what is installed, where spans would go, and whether anybody takes them there."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

from opentelemetry.sdk.environment_variables import (
    OTEL_EXPORTER_OTLP_CERTIFICATE,
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE,
    OTEL_EXPORTER_OTLP_CLIENT_KEY,
    OTEL_EXPORTER_OTLP_HEADERS,
    OTEL_EXPORTER_OTLP_PROTOCOL,
    OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE,
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE,
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY,
    OTEL_EXPORTER_OTLP_TRACES_HEADERS,
    OTEL_SDK_DISABLED,
)
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.util.re import parse_env_headers

from spanwise.endpoint import GRPC, HTTP, Endpoint, endpoint
from spanwise.safety import RAISE_VARIABLE
from spanwise.tracer import release

LIBRARIES = ("openai", "mcp", "httpx", "httpx2", "opentelemetry-sdk", "opentelemetry-instrumentation-httpx")
_CONNECT_LIMIT = 2.0  # s
_ANSWER_LIMIT = 10.0  # s, what the exporters wait
_GRPC_LIMIT = 3.0  # s; the exporter tries a wrong port again until then
_EMPTY = b""  # an ExportTraceServiceRequest without spans
_IS_GRPC = f"this looks like the gRPC port; set {OTEL_EXPORTER_OTLP_PROTOCOL}={GRPC} or use 4318"
_IS_HTTP = f"if this is an HTTP port, set {OTEL_EXPORTER_OTLP_PROTOCOL}={HTTP} with 4318 or use 4317"
_IS_OTHER = "no OTLP/HTTP here; of `spanwise serve` that is port 4318 (4320 is its page and API), path /v1/traces"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; ``ok`` None means that it is no matter of right and wrong."""

    ok: bool | None
    text: str


def main(arguments: Sequence[str]) -> int:
    """Print the findings. 0 if spans would arrive, 1 if not."""
    _parser().parse_args(arguments)
    findings = list(examine(os.environ))
    for finding in findings:
        sys.stdout.write(f"{_SIGNS[finding.ok]} {finding.text}\n")
    return 1 if any(finding.ok is False for finding in findings) else 0


def _parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog="spanwise doctor",
        description="Show the versions of what is installed and where spans would go by the OTEL variables, and send "
        "an empty batch there to see whether spans would be taken. Exit code 0 if they would, 1 if not.",
    )


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
    wrong = _refused_by_grpc(target) if target.protocol == GRPC else _refused_by_http(target, environ)
    if wrong is not None:
        return Finding(ok=False, text=f"{target.url}: not ok, spans would be lost: {wrong}")
    return Finding(ok=True, text=f"{target.url}: takes spans ({target.protocol})")


def _refused_by_http(target: Endpoint, environ: Mapping[str, str]) -> str | None:
    """What is wrong with the answer to a batch without spans; None if it is taken."""
    headers = {**_headers(environ), "Content-Type": "application/x-protobuf"}
    request = urllib.request.Request(target.url, _EMPTY, headers, method="POST")  # noqa: S310 - the user's own address
    try:
        context = _trust(environ) if target.url.startswith("https:") else None
        with urllib.request.urlopen(request, timeout=_ANSWER_LIMIT, context=context) as answer:  # noqa: S310 - as above
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
        error.close()
    except (HTTPException, ConnectionError) as error:
        return f"no HTTP is spoken here ({type(error).__name__}); {_IS_GRPC}"
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error))
    return _told(status)


def _told(status: int) -> str | None:
    if status == HTTPStatus.OK:
        return None
    hint = f"; {_IS_OTHER}" if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED) else ""
    return f"the answer is {status}{hint}"


def _refused_by_grpc(target: Endpoint) -> str | None:
    """As over HTTP, but by the exporter itself, which tells why only in its log."""
    log = logging.getLogger("opentelemetry.exporter.otlp.proto.grpc")
    heard = _Heard()
    log.addHandler(heard)
    log.propagate = False
    try:
        taken = _sent_by_grpc(target)
    except (ImportError, OSError, ValueError) as error:  # not installed, or no such certificate
        return str(error)
    finally:
        log.removeHandler(heard)
        log.propagate = True
    return None if taken else f"{heard.last or 'no answer'}; {_IS_HTTP}"


def _sent_by_grpc(target: Endpoint) -> bool:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    sender = OTLPSpanExporter(target.url, insecure=None if target.chosen else True, timeout=_GRPC_LIMIT)
    try:
        return sender.export([]) is SpanExportResult.SUCCESS
    finally:
        sender.shutdown()


class _Heard(logging.Handler):
    """Keeps the last message."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.last = record.getMessage()


def _trust(environ: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=_either(environ, *_ROOTS))
    chain = _either(environ, *_CHAIN)
    if chain:
        context.load_cert_chain(chain, _either(environ, *_KEY))
    return context


def _headers(environ: Mapping[str, str]) -> Mapping[str, str]:
    given = _either(environ, OTEL_EXPORTER_OTLP_TRACES_HEADERS, OTEL_EXPORTER_OTLP_HEADERS)
    return parse_env_headers(given or "", liberal=True)


def _either(environ: Mapping[str, str], special: str, general: str) -> str | None:
    return environ.get(special) or environ.get(general)


_ROOTS = (OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE, OTEL_EXPORTER_OTLP_CERTIFICATE)
_CHAIN = (OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE)
_KEY = (OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY, OTEL_EXPORTER_OTLP_CLIENT_KEY)
_SIGNS = {True: "ok  ", False: "FAIL", None: "    "}
