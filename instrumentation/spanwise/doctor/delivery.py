"""Whether anybody takes spans at the place where they would go, and what is wrong where nobody does."""

from __future__ import annotations

import logging
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException
from urllib.parse import SplitResult, urlsplit

from opentelemetry.sdk.environment_variables import (
    OTEL_EXPORTER_OTLP_CERTIFICATE,
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE,
    OTEL_EXPORTER_OTLP_CLIENT_KEY,
    OTEL_EXPORTER_OTLP_HEADERS,
    OTEL_EXPORTER_OTLP_INSECURE,
    OTEL_EXPORTER_OTLP_PROTOCOL,
    OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE,
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE,
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY,
    OTEL_EXPORTER_OTLP_TRACES_HEADERS,
)
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.util.re import parse_env_headers

from spanwise.address import fault, full
from spanwise.doctor.finding import Finding
from spanwise.endpoint import GRPC, HTTP, Endpoint

_CONNECT_LIMIT = 2.0  # s
_ANSWER_LIMIT = 10.0  # s, what the exporters wait
_GRPC_LIMIT = 3.0  # s; the exporter tries a wrong port again until then
_EMPTY = b""  # an ExportTraceServiceRequest without spans
_IS_GRPC = f"this looks like the gRPC port; set {OTEL_EXPORTER_OTLP_PROTOCOL}={GRPC} or use 4318"
_IS_HTTP = f"if this is an HTTP port, set {OTEL_EXPORTER_OTLP_PROTOCOL}={HTTP} with 4318 or use 4317"
_IS_OTHER = "no OTLP/HTTP here; of `spanwise serve` that is port 4318 (4320 is its page and API), path /v1/traces"
_TOKEN = f"set {OTEL_EXPORTER_OTLP_HEADERS}='Authorization=Bearer%20TOKEN' to a token that the collector knows"
_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_PLAIN = f"if it speaks no TLS, name it http://HOST:PORT or set {OTEL_EXPORTER_OTLP_INSECURE}=true"
_HINTS = {"UNAUTHENTICATED": _TOKEN, "PERMISSION_DENIED": _TOKEN, "Tls handshake failed": _PLAIN}  # by what gRPC says
_EXPORTERS = "opentelemetry.exporter.otlp"


def finding(target: Endpoint, environ: Mapping[str, str]) -> Finding:
    """Whether a batch without spans is taken by ``target``."""
    if (wrong := fault(target)) is not None:
        return Finding(ok=False, text=f"endpoint: {wrong}", remedy="name it like http://127.0.0.1:4318")
    if (silence := _silent(target)) is not None:
        return Finding(
            ok=False, text=f"{target.url}: nobody listens ({silence})", remedy="start one with: spanwise serve"
        )
    refused = _refused_by_grpc(target) if target.protocol == GRPC else _refused_by_http(target, environ)
    if refused is not None:
        why, remedy = refused
        return Finding(ok=False, text=f"{target.url}: not ok, spans would be lost: {why}", remedy=remedy)
    given = "" if credentials(environ) is None else ", and the token is accepted"
    return Finding(ok=True, text=f"{target.url}: takes spans ({target.protocol}){given}")


def place(target: Endpoint) -> SplitResult:
    """The address of ``target`` in parts."""
    return urlsplit(full(target))


def credentials(environ: Mapping[str, str]) -> str | None:
    """What the exporter says to be let in."""
    return headers(environ).get("authorization")


def headers(environ: Mapping[str, str]) -> Mapping[str, str]:
    """What the exporter adds to each request."""
    given = _either(environ, OTEL_EXPORTER_OTLP_TRACES_HEADERS, OTEL_EXPORTER_OTLP_HEADERS)
    return parse_env_headers(given or "", liberal=True)


def trust(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Whom the exporter believes, and how it proves who it is."""
    context = ssl.create_default_context(cafile=_either(environ, *_ROOTS))
    chain = _either(environ, *_CHAIN)
    if chain:
        context.load_cert_chain(chain, _either(environ, *_KEY))
    return context


class Heard(logging.Handler):
    """Keeps the last message."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.last = record.getMessage()


@contextmanager
def hearing() -> Iterator[Heard]:
    """What the exporters log inside the block; they tell the reason of a failure nowhere else."""
    log = logging.getLogger(_EXPORTERS)
    heard, propagated = Heard(), log.propagate
    log.addHandler(heard)
    log.propagate = False
    try:
        yield heard
    finally:
        log.removeHandler(heard)
        log.propagate = propagated


def _silent(target: Endpoint) -> OSError | None:
    parts = place(target)
    port = parts.port or (443 if parts.scheme == "https" else 4317 if target.protocol == GRPC else 80)
    try:
        socket.create_connection((parts.hostname or "", port), _CONNECT_LIMIT).close()
    except OSError as error:
        return error
    return None


def _refused_by_http(target: Endpoint, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """What is wrong with the answer to a batch without spans, and a remedy; None if it is taken."""
    said = {**headers(environ), "Content-Type": "application/x-protobuf"}
    request = urllib.request.Request(target.url, _EMPTY, said, method="POST")  # noqa: S310 - the user's own address
    try:
        context = trust(environ) if target.url.startswith("https:") else None
        with urllib.request.urlopen(request, timeout=_ANSWER_LIMIT, context=context) as answer:  # noqa: S310 - as above
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
        error.close()
    except (HTTPException, ConnectionError) as error:
        return f"no HTTP is spoken here ({type(error).__name__})", _IS_GRPC
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error)), ""
    return _told(status, environ)


def _told(status: int, environ: Mapping[str, str]) -> tuple[str, str] | None:
    if status == HTTPStatus.OK:
        return None
    if status in _REFUSED:
        given = "no token was sent" if credentials(environ) is None else "the token is not accepted"
        return f"the answer is {status}: {given}", _TOKEN
    remedy = _IS_OTHER if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED) else ""
    return f"the answer is {status}", remedy


def _refused_by_grpc(target: Endpoint) -> tuple[str, str] | None:
    """As over HTTP, but by the exporter itself."""
    with hearing() as heard:
        try:
            taken = _sent_by_grpc(target)
        except (ImportError, OSError, ValueError) as error:  # not installed, or no such certificate
            return str(error), ""
    if taken:
        return None
    return heard.last or "no answer", next((hint for word, hint in _HINTS.items() if word in heard.last), _IS_HTTP)


def _sent_by_grpc(target: Endpoint) -> bool:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    sender = OTLPSpanExporter(target.url, insecure=None if target.chosen else True, timeout=_GRPC_LIMIT)
    try:
        return sender.export([]) is SpanExportResult.SUCCESS
    finally:
        sender.shutdown()


def _either(environ: Mapping[str, str], special: str, general: str) -> str | None:
    return environ.get(special) or environ.get(general)


_ROOTS = (OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE, OTEL_EXPORTER_OTLP_CERTIFICATE)
_CHAIN = (OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE)
_KEY = (OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY, OTEL_EXPORTER_OTLP_CLIENT_KEY)
