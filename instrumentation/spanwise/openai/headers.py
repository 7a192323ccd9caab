"""What the headers of an answer tell: how long the service took, and its own id of the request."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.util.types import AttributeValue

from spanwise import semconv

_PROCESSING = "openai-processing-ms"
_REQUEST_ID = "x-request-id"
MAX_ID = 128


def header_attributes(headers: Mapping[str, str]) -> dict[str, AttributeValue]:
    """The headers' part of the span; nothing of what is missing or cannot be read."""
    found: dict[str, AttributeValue] = {}
    if request_id := headers.get(_REQUEST_ID):
        found[semconv.RESPONSE_REQUEST_ID] = request_id[:MAX_ID]
    if (seconds := _seconds(headers.get(_PROCESSING))) is not None:
        found[semconv.RESPONSE_SERVER_TIME] = seconds
    return found


def _seconds(milliseconds: str | None) -> float | None:
    try:
        return float(milliseconds) / 1000 if milliseconds else None
    except ValueError:  # a proxy's own idea of a number
        return None
