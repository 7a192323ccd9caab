"""A client span that is current for a block and ends with it, exactly once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import Token
from types import TracebackType
from typing import Self
from weakref import WeakSet

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, get_current_span, set_span_in_context
from opentelemetry.util.types import AttributeValue

from spanwise import semconv, text, tracer
from spanwise.mcp import failure
from spanwise.mcp.connection import Connection
from spanwise.safety import guarded


class Scope:
    """Block of work on a connection.

    Leaving the block fixes the end; what must be known for the attributes is worked out after that instant.
    Nothing in here raises into the block's owner, and an exception of the block passes through.
    """

    kind = SpanKind.CLIENT

    def __init__(self, name: str, connection: Connection, *, start_ns: int | None = None) -> None:
        self.name = text.encodable(name)
        self.connection = connection
        self.span: Span = INVALID_SPAN
        self.fault: Exception | None = None  # a fault in another task that shows here only as a cancellation
        self.start_ns = start_ns or time.time_ns()
        self.end_ns = 0
        self._token: Token[Context] | None = None

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end_ns = self.end_ns or time.time_ns()
        self._close(error)

    def known(self) -> Mapping[str, AttributeValue]:
        """What the span carries from its beginning."""
        return {}

    def attributes(self) -> dict[str, AttributeValue]:
        """What the span shall carry at its end."""
        return self.connection.attributes()

    def failure(self, error: BaseException | None) -> BaseException | None:
        """What of an error that left the block is a failure of this work."""
        return error

    def parent(self) -> Context | None:
        """The context that the span starts in; None for the current one."""
        return None

    def inside(self) -> Context:
        """The context that the work happens in."""
        return set_span_in_context(self.span)

    def write(self) -> None:
        """The work is over."""
        self.settle()

    @guarded
    def settle(self) -> None:
        """Set what is known and end the span, once."""
        if self not in unwritten:
            return
        unwritten.discard(self)
        try:
            if self.span.is_recording():
                self.span.set_attributes(text.attributes(self.attributes()))
        finally:
            self.span.end(self.end_ns)

    @guarded
    def abandon(self) -> None:
        """The process ends before the work does, or before all that was to be known."""
        if not self.end_ns:
            self.end_ns = time.time_ns()
            self.span.set_attribute(semconv.INCOMPLETE, True)
        self.settle()

    @guarded
    def _open(self) -> None:
        parent, first = self.parent(), text.attributes(self.known())
        self.span = tracer.tracer().start_span(self.name, parent, self.kind, first, start_time=self.start_ns)
        unwritten.add(self)
        self._token = otel_context.attach(self.inside())
        self.entered()

    def entered(self) -> None:
        """Hook of a subclass: the span is current now."""

    def left(self) -> None:
        """Hook of a subclass: the span is no longer current and not yet ended."""

    @guarded
    def _close(self, error: BaseException | None) -> None:
        try:
            if self._token is not None:
                otel_context.detach(self._token)
            self.left()
            failure.mark(self.span, self.failure(error), self.fault)
        finally:
            if self in unwritten:  # else it was written when the process began to end
                self.write()


unwritten: WeakSet[Scope] = WeakSet()


def abandon_all() -> None:
    """Write the spans of all work that is still going on, so that it can be seen what the process hung in."""
    for scope in list(unwritten):
        scope.abandon()


def around(scope: Scope | None) -> AbstractContextManager[Scope | None]:
    """The block of ``scope``; none at all where it could not be made."""
    return nullcontext() if scope is None else scope


def rootless(connection: Connection) -> Context | None:
    """Where no span is open, the spans of setting up and closing join the trace of connecting."""
    if get_current_span().get_span_context().is_valid or connection.connecting is None:
        return None
    return set_span_in_context(connection.connecting.span)
