"""How a request that did not succeed looks on its span."""

from __future__ import annotations

import asyncio
from typing import Final

from opentelemetry.trace import Span, Status, StatusCode

from spanwise import semconv
from spanwise.spanscope import error_type

_ERROR_CANCELLED: Final = "cancelled"
_ERROR_TIMEOUT: Final = "timeout"
_CODES_REQUEST_TIMEOUT: Final = (-32001, 408)  # the SDK's own answers for a read timeout: 2.x, 1.x
_CARRIERS: Final = ("MCPError", "McpError")  # exceptions that carry an error of JSON-RPC: 2.x, 1.x


def mark(span: Span, error: BaseException | None, fault: Exception | None = None) -> None:
    """Say on ``span`` what ``error`` ended the work; None is success.

    A cancelled call is neither a success nor the server's failure: it has an ``error.type`` and no ERROR status.
    Messages are left out, because they quote arguments and results.
    """
    if error is None:
        return
    if not isinstance(error, Exception) and fault is not None:
        error = fault
    if cancelled(error):
        mark_cancelled(span)
        return
    code = _code(error)
    if code is not None:
        span.set_attribute(semconv.RPC_RESPONSE_STATUS_CODE, str(code))
    if code in _CODES_REQUEST_TIMEOUT or isinstance(error, TimeoutError):
        span.set_attributes({semconv.TIMED_OUT: True, semconv.ERROR_TYPE: _ERROR_TIMEOUT})
    else:
        span.set_attribute(semconv.ERROR_TYPE, error_type(error) if code is None else str(code))
    span.set_status(Status(StatusCode.ERROR))


def mark_cancelled(span: Span) -> None:
    """Say on ``span`` that nobody wanted its result any more."""
    span.set_attributes({semconv.CANCELLED: True, semconv.ERROR_TYPE: _ERROR_CANCELLED})


def cancelled(error: BaseException) -> bool:
    """Whether ``error`` says that nobody wants the result any more."""
    # trio has its own class; both derive from BaseException, and nothing else that stops a task has that name.
    return isinstance(error, asyncio.CancelledError) or type(error).__name__ == "Cancelled"


def _code(error: BaseException) -> int | None:
    from mcp.shared import exceptions

    carriers = tuple(kind for name in _CARRIERS if (kind := getattr(exceptions, name, None)) is not None)
    return int(error.error.code) if isinstance(error, carriers) else None
