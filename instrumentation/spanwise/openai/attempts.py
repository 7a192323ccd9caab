"""The HTTP requests that one model call took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.connection import Connection
from spanwise.spanscope import error_type

_FAILED = 400
_NS = 1_000_000_000


@dataclass(slots=True)
class Attempt:
    """One HTTP request; ``end_ns`` is 0 while it runs, and for the one whose answer is still being read."""

    start_ns: int
    end_ns: int = 0
    status: int | None = None
    error: str | None = None
    connection: Connection = field(default_factory=Connection)

    def answered(self, status: int) -> None:
        """The headers are here."""
        self.status = status
        if status >= _FAILED:
            self.error, self.end_ns = str(status), time.time_ns()

    def failed(self, error: BaseException) -> None:
        """No answer came."""
        self.error, self.end_ns = error_type(error), time.time_ns()


class Attempts:
    """All attempts of one call, in order."""

    def __init__(self) -> None:
        self._all: list[Attempt] = []

    @property
    def none(self) -> bool:
        """Whether nothing was sent yet."""
        return not self._all

    @property
    def last(self) -> Attempt | None:
        """The one that was sent last."""
        return self._all[-1] if self._all else None

    def begin(self) -> Attempt:
        """The next one starts now."""
        self._all.append(Attempt(time.time_ns()))
        return self._all[-1]

    def attributes(self) -> dict[str, AttributeValue]:
        """Their number, the time between them in seconds, and what the last one's connection was."""
        if not self._all:
            return {}
        last = self._all[-1]
        found: dict[str, AttributeValue] = {semconv.RETRY_ATTEMPTS: len(self._all), **last.connection.attributes()}
        if len(self._all) > 1:
            found[semconv.RETRY_BACKOFF] = self._backoff_ns() / _NS
        if last.status is not None:
            found[semconv.HTTP_RESPONSE_STATUS_CODE] = last.status
        return found

    def write(self, tracer: Tracer, ctx: Context, end_ns: int) -> None:
        """Emit a span for each attempt where there was more than one; the last one ends with the call.

        This can only be known afterwards, so they stand beside the HTTP spans and enclose them in time.
        """
        if len(self._all) > 1:
            for number, attempt in enumerate(self._all, start=1):
                span = tracer.start_span(f"chat.attempt {number}", ctx, SpanKind.INTERNAL, start_time=attempt.start_ns)
                _fill(span, number, attempt)
                span.end(max(attempt.end_ns or end_ns, attempt.start_ns))

    def _backoff_ns(self) -> int:
        pairs = zip(self._all, self._all[1:], strict=False)
        return sum(max(0, after.start_ns - before.end_ns) for before, after in pairs if before.end_ns)


def _fill(span: Span, number: int, attempt: Attempt) -> None:
    span.set_attributes({semconv.RETRY_ATTEMPT: number} | attempt.connection.attributes())
    if attempt.status is not None:
        span.set_attribute(semconv.HTTP_RESPONSE_STATUS_CODE, attempt.status)
    if attempt.error is not None:
        span.set_attribute(semconv.ERROR_TYPE, attempt.error)
        span.set_status(Status(StatusCode.ERROR, attempt.error))
