"""Whether the work of a span failed."""

from __future__ import annotations

from spanwise import semconv
from spanwise_collector.span import Span, Status


def failed(span: Span) -> bool:
    """An error status, an error type, or a tool result that says that it is an error."""
    said = span.status is Status.ERROR or span.text(semconv.ERROR_TYPE) is not None
    return said or span.flag(semconv.TOOL_IS_ERROR) is True
