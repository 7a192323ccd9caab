"""Where spans go and how: the arguments first, then the OTEL variables, then OTLP/HTTP on loopback."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from opentelemetry.sdk.environment_variables import (
    OTEL_BSP_EXPORT_TIMEOUT,
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_EXPORTER_OTLP_PROTOCOL,
    OTEL_EXPORTER_OTLP_TIMEOUT,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL,
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT,
)
from opentelemetry.sdk.trace.export import SpanExporter

from spanwise import exporters
from spanwise.reach import PORTS, Reach, reach

EXPORTER_VARIABLE = exporters.VARIABLE
GRPC = exporters.GRPC
HTTP = exporters.HTTP
JSON = exporters.JSON
PATH = "/v1/traces"
# An address, not a name: "localhost" may resolve to ::1 first, where nobody listens.
_OVER_HTTP = "http://127.0.0.1:4318" + PATH
DEFAULTS = {HTTP: _OVER_HTTP, JSON: _OVER_HTTP, GRPC: "http://127.0.0.1:4317"}

_log = logging.getLogger("spanwise")
_named: str | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OTLP target. ``chosen`` tells whether anybody named it, or whether it is our default."""

    protocol: str
    url: str
    chosen: bool


def endpoint(argument: str | None, environ: Mapping[str, str]) -> Endpoint | None:
    """The target for spans, or None where ``OTEL_TRACES_EXPORTER`` does not want them to go by OTLP.

    ``argument`` may be a base URL ("http://collector:4318"); the signal's path is added where it has none.
    """
    if argument is None and not exporters.otlp(environ):
        return None
    protocol = _protocol(environ)
    url = _url(argument, protocol, environ)
    return Endpoint(protocol, url or DEFAULTS[protocol], chosen=url is not None)


def exporter(target: Endpoint) -> SpanExporter:
    """An OTLP exporter for ``target``; headers, TLS, compression and timeout are read from the OTEL variables."""
    timeout = _timeout(os.environ)
    if target.protocol == GRPC:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc(endpoint=target.url, insecure=None if target.chosen else True, timeout=timeout)
    if target.protocol == JSON:
        return exporters.json(endpoint=target.url, timeout=timeout)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return Http(endpoint=target.url, timeout=timeout)


def listener(target: Endpoint) -> Reach:
    """How to ask whether anybody listens at ``target``; what gRPC makes of an address without a port, it knows."""
    return reach(target.url, {} if target.protocol == GRPC else PORTS)


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
    variable = environ.get(OTEL_EXPORTER_OTLP_TRACES_PROTOCOL) or environ.get(OTEL_EXPORTER_OTLP_PROTOCOL)
    given = (exporters.protocol(environ) or variable or HTTP).strip().lower()
    if given in (HTTP, GRPC) or (given == JSON and exporters.installed(exporters.JSON_NAME)):
        return given
    _log.warning("OTLP protocol %r is not supported by what is installed, %s is used", given, HTTP)
    return HTTP


def _timeout(environ: Mapping[str, str]) -> float | None:
    """What the processor's variable allows for one export, unless the exporter's own variables say something."""
    if environ.get(OTEL_EXPORTER_OTLP_TRACES_TIMEOUT) or environ.get(OTEL_EXPORTER_OTLP_TIMEOUT):
        return None
    given = environ.get(OTEL_BSP_EXPORT_TIMEOUT, "").strip()
    return int(given) / 1000 if given.isdecimal() and int(given) else None


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
