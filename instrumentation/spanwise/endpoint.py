"""Where spans go and how: the arguments first, then the OTEL variables, then OTLP/HTTP on loopback."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from opentelemetry.sdk.environment_variables import (
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_EXPORTER_OTLP_PROTOCOL,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL,
)
from opentelemetry.sdk.trace.export import SpanExporter

EXPORTER_VARIABLE = "OTEL_TRACES_EXPORTER"
GRPC = "grpc"
HTTP = "http/protobuf"
PATH = "/v1/traces"
# An address, not a name: "localhost" may resolve to ::1 first, where nobody listens.
DEFAULTS = {HTTP: "http://127.0.0.1:4318" + PATH, GRPC: "http://127.0.0.1:4317"}

_log = logging.getLogger("spanwise")
_named: str | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OTLP target. ``chosen`` tells whether anybody named it, or whether it is our default."""

    protocol: str
    url: str
    chosen: bool


def endpoint(argument: str | None, environ: Mapping[str, str]) -> Endpoint | None:
    """The target for spans, or None where ``OTEL_TRACES_EXPORTER=none`` wants them to stay.

    ``argument`` may be a base URL ("http://collector:4318"); the signal's path is added where it has none.
    """
    if argument is None and environ.get(EXPORTER_VARIABLE, "").strip().lower() == "none":
        return None
    protocol = _protocol(environ)
    url = _url(argument, protocol, environ)
    return Endpoint(protocol, url or DEFAULTS[protocol], chosen=url is not None)


def exporter(target: Endpoint) -> SpanExporter:
    """An OTLP exporter for ``target``; headers, TLS, compression and timeout are read from the OTEL variables."""
    if target.protocol == GRPC:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc(endpoint=target.url, insecure=None if target.chosen else True)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return Http(endpoint=target.url)


def name(argument: str | None) -> None:
    """Remember the endpoint that the program named, for the processes that it starts."""
    global _named  # noqa: PLW0603 - one process has one instrumentation
    _named = argument


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variable that says the same as the endpoint that the program named; none where one says something already."""
    if not _named or environ.get(OTEL_EXPORTER_OTLP_ENDPOINT) or environ.get(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT):
        return {}
    base = _protocol(environ) == GRPC or _with_path(_named) != _named
    return {OTEL_EXPORTER_OTLP_ENDPOINT if base else OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: _named}


def _protocol(environ: Mapping[str, str]) -> str:
    given = environ.get(OTEL_EXPORTER_OTLP_TRACES_PROTOCOL) or environ.get(OTEL_EXPORTER_OTLP_PROTOCOL) or HTTP
    if given in DEFAULTS:
        return given
    _log.warning("OTLP protocol %r is not supported by the SDK, %s is used", given, HTTP)
    return HTTP


def _url(argument: str | None, protocol: str, environ: Mapping[str, str]) -> str | None:
    if argument:
        return argument if protocol == GRPC else _with_path(argument)
    if signal := environ.get(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT):
        return signal
    general = environ.get(OTEL_EXPORTER_OTLP_ENDPOINT)
    if not general:
        return None
    return general if protocol == GRPC else general.rstrip("/") + PATH


def _with_path(url: str) -> str:
    return url.rstrip("/") + PATH if urlsplit(url).path in ("", "/") else url
