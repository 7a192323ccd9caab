"""The exporters that ``OTEL_TRACES_EXPORTER`` names: OTLP, the console, and whatever else is installed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace.export import SpanExporter

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

VARIABLE = "OTEL_TRACES_EXPORTER"
GRPC = "grpc"
HTTP = "http/protobuf"
JSON = "http/json"
JSON_NAME = "otlp_json_http"

_GROUP = "opentelemetry_traces_exporter"
_OTLP = {"otlp": None, "otlp_proto_http": HTTP, "otlp_proto_grpc": GRPC, JSON_NAME: JSON}
_NONE = "none"

_log = logging.getLogger("spanwise")


def otlp(environ: Mapping[str, str]) -> bool:
    """Whether spans shall go by OTLP: where nothing else is asked for, they do."""
    return any(name in _OTLP for name in _names(environ))


def protocol(environ: Mapping[str, str]) -> str | None:
    """The protocol that the exporter's name says, if it says one."""
    return next((found for name in _names(environ) if (found := _OTLP.get(name))), None)


def others(environ: Mapping[str, str]) -> Iterator[Callable[[], SpanExporter]]:
    """How to make the exporters that are not OTLP; for a name that nobody knows a line goes to the log."""
    for name in _names(environ):
        if name in _OTLP or name == _NONE:
            continue
        if (found := _find(name)) is not None:
            yield found.load()
        else:
            known = sorted({_NONE, *_OTLP, *(point.name for point in _points())})
            _log.warning("%s names %r, which is not installed: known are %s", VARIABLE, name, known)


def installed(name: str) -> bool:
    """Whether an exporter of this name can be loaded."""
    return _find(name) is not None


def json(**arguments: Any) -> SpanExporter:
    """The exporter for OTLP in JSON over HTTP, which is a package of its own."""
    (point,) = _points(name=JSON_NAME)
    made: SpanExporter = point.load()(**arguments)
    return made


def _names(environ: Mapping[str, str]) -> list[str]:
    given = [name.strip() for name in environ.get(VARIABLE, "").split(",")]
    return [name for name in given if name] or ["otlp"]


def _find(name: str) -> EntryPoint | None:
    return next(iter(_points(name=name)), None)


def _points(name: str | None = None) -> EntryPoints:
    from importlib.metadata import entry_points  # takes longer to load than all of ours

    return entry_points(group=_GROUP) if name is None else entry_points(group=_GROUP, name=name)
