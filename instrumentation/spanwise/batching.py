"""How many spans wait and go together, and when: the standard ``OTEL_BSP_`` variables."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from opentelemetry.sdk.environment_variables import (
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
    OTEL_BSP_MAX_QUEUE_SIZE,
    OTEL_BSP_SCHEDULE_DELAY,
)

_log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True)
class Batching:
    """The standard's defaults, but for the delay: 5 s would keep somebody who looks at a running agent waiting."""

    queued: int = 2048
    spans: int = 512
    delay_ms: int = 1000

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Batching:
        """What the variables say, and the defaults where they say nothing that can be used."""
        queued = _positive(environ, OTEL_BSP_MAX_QUEUE_SIZE, cls().queued)
        spans = _positive(environ, OTEL_BSP_MAX_EXPORT_BATCH_SIZE, cls().spans)
        return cls(queued, min(spans, queued), _positive(environ, OTEL_BSP_SCHEDULE_DELAY, cls().delay_ms))


def _positive(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number > 0:
        return number
    _log.warning("%s=%r is no positive number, %d is used", name, text, default)
    return default
