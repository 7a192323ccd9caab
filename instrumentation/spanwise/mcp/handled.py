"""What a server knows of a request that it handles; written when the handler is done, so that it is no work of its."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, set_span_in_context
from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.mcp import failure, handshake, listing, toolcall

_TRACE: Final = "traceparent"
_SESSION_HEADER: Final = "mcp-session-id"


@dataclass(slots=True)
class Handled:
    """One request in the hands of a server."""

    ambient: Span  # the span that was open when it arrived
    span: Span | None = None  # of its handling; whoever opened it leaves ending it to us
    end_ns: int = 0
    told: bool = False  # the span of the client, which waits in this very task, says all that is to be said
    result: Any = None
    error: BaseException | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the caller did not want the answer any more."""
        return self.error is not None and failure.cancelled(self.error)


_current: ContextVar[Handled | None] = ContextVar("spanwise_mcp_handled", default=None)


def begin(work: Handled) -> Token[Handled | None]:
    """What happens from here on is the handling of ``work``."""
    return _current.set(work)


def end(token: Token[Handled | None]) -> None:
    """The handling is over."""
    _current.reset(token)


class Handling:
    """The block of the SDK's own span, which fixes its end but leaves its ending to us."""

    def __init__(self, work: Handled, span: Span) -> None:
        self._work, self._span = work, span
        self._token: Token[Context] | None = None

    def __enter__(self) -> Span:
        self._work.span = self._span
        self._token = otel_context.attach(set_span_in_context(self._span))
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._work.end_ns = time.time_ns()
        if self._token is not None:
            otel_context.detach(self._token)


def waiting() -> Handled | None:
    """The request whose span is about to be opened."""
    work = _current.get()
    return None if work is None or work.span is not None else work


def link(span: Span, ambient: Span) -> None:
    """The request's message names the parent; the HTTP request that brought it is only linked."""
    if getattr(ambient, "kind", None) is SpanKind.SERVER and ambient.is_recording():
        span.add_link(ambient.get_span_context())


def names_trace(carrier: Any) -> bool:
    """Whether ``carrier``, the ``_meta`` of a message or the headers of a request, says what it belongs to."""
    return isinstance(carrier, Mapping) and _TRACE in carrier


def carrier(meta: Any, request: Any) -> Mapping[str, Any] | None:
    """What names the caller: the message, else the HTTP request that brought it, else nothing."""
    found = (meta, getattr(request, "headers", None))
    return next((one for one in found if names_trace(one)), None)


def request(method: str, params: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """What was asked."""
    return toolcall.request(method, params)


def outline(method: str, params: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """What was answered: only what is cheap to find out, since the answer waits for it."""
    if method in semconv.MCP_HANDSHAKE_METHODS:
        return handshake.attributes(method, result)
    if method in semconv.MCP_LIST_METHODS:
        return listing.outline(method, params, result)
    return toolcall.outline(method, result)


def transport(request: Any) -> dict[str, AttributeValue]:
    """Network and session of a request that came by HTTP."""
    headers, client = getattr(request, "headers", None), getattr(request, "client", None)
    if headers is None:
        return {}
    found: dict[str, AttributeValue] = {semconv.NETWORK_TRANSPORT: "tcp"}
    if session := headers.get(_SESSION_HEADER):
        found[semconv.MCP_SESSION_ID] = session
    if client is not None:
        found |= {semconv.CLIENT_ADDRESS: client.host, semconv.CLIENT_PORT: client.port}
    return found
