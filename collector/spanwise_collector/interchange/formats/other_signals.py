"""OTLP/JSON of metrics and logs, which some files mix with traces: nothing in it is a span."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spanwise_collector.interchange.formats.format import Format
from spanwise_collector.interchange.piece import Body

_KEYS: Final = (b'"resourceMetrics"', b'"resourceLogs"', b'"resourceProfiles"')


def _fits(body: bytes) -> bool:
    return body.lstrip().startswith(b"{") and any(key in body for key in _KEYS)


def _bodies(_: bytes) -> Iterator[Body]:
    return iter(())


FORMAT = Format("OTLP JSON of metrics, logs or profiles", _fits, _bodies)
