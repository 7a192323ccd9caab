"""OTLP/JSON: a trace request, as the OpenTelemetry Collector's file exporter writes one a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from spanwise_collector.interchange.formats.format import Format
from spanwise_collector.interchange.piece import JSON, Body

_BEGINS: Final = re.compile(rb'\s*\{\s*("resourceSpans"|\}\s*$)')  # an empty request is one, too


def _fits(body: bytes) -> bool:
    return _BEGINS.match(body) is not None


def _bodies(body: bytes) -> Iterator[Body]:
    yield Body(body, JSON)


FORMAT = Format("OTLP JSON", _fits, _bodies)
