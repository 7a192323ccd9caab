"""How a request that did not succeed looks on its span."""

from __future__ import annotations

import asyncio
from typing import Final

from opentelemetry.trace import Span, Status, StatusCode

from spanwise import semconv
from spanwise.spanscope import error_type

_ERROR_CANCELLED: Final = "cancelled"
_ERROR_TIMEOUT: Final = "timeout"
_CODE_REQUEST_TIMEOUT: Final = -32001  # the SDK's own answer for a read timeout


def mark(span: Span, error: BaseException | None, fault: Exception | None = None) -> None:
    """Say on ``span`` what ``error`` ended the work; None is success.

    A cancelled call is neither a success nor the server's failure: it has an ``error.type`` and no ERROR status.
    Messages are left out, because they quote arguments and results.
    """
    if error is None:
        return
    if not isinstance(error, Exception) and fault is not None:
        error = fault
    if _cancelled(error):
        span.set_attributes({semconv.CANCELLED: True, semconv.ERROR_TYPE: _ERROR_CANCELLED})
        return
    code = _code(error)
    if code is not None:
        span.set_attribute(semconv.RPC_RESPONSE_STATUS_CODE, str(code))
    if code == _CODE_REQUEST_TIMEOUT or isinstance(error, TimeoutError):
        span.set_attributes({semconv.TIMED_OUT: True, semconv.ERROR_TYPE: _ERROR_TIMEOUT})
    else:
        span.set_attribute(semconv.ERROR_TYPE, error_type(error) if code is None else str(code))
    span.set_status(Status(StatusCode.ERROR))


def _cancelled(error: BaseException) -> bool:
    # trio has its own class; both derive from BaseException, and nothing else that stops a task has that name.
    return isinstance(error, asyncio.CancelledError) or type(error).__name__ == "Cancelled"


def _code(error: BaseException) -> int | None:
    from mcp.shared.exceptions import MCPError

    return error.error.code if isinstance(error, MCPError) else None
