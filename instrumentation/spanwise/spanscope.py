"""A scope that is one span."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.util.types import AttributeValue

from spanwise import semconv, text
from spanwise.safety import guarded
from spanwise.scope import Scope
from spanwise.tracer import tracer
from spanwise.unfinished import begun, ended


class SpanScope(Scope):
    """Opens a span, and closes it with an error status where an exception left the work."""

    def __init__(self) -> None:
        super().__init__()
        self.span: Span | None = None

    def described(self) -> tuple[str, Mapping[str, AttributeValue]]:
        """Name and first attributes of the span."""
        raise NotImplementedError

    def details(self) -> Mapping[str, AttributeValue]:
        """What takes work to find out: nobody asks for it where the span is not recorded."""
        return {}

    @property
    def recorded(self) -> bool:
        """Whether the span is open and anybody will see it."""
        return self.span is not None and self.span.is_recording()

    def parent(self) -> Context:
        """The context to open the span in."""
        return get_current()

    def inside(self, ctx: Context) -> Context:
        """``ctx``, in which the span is current, with whatever else the work should see."""
        return ctx

    def opened(self) -> Context:
        """Start the span."""
        self.span = None  # of an earlier run: it must not take what belongs to this one
        parent = self.parent()
        name, attributes = self.described()
        self.span = tracer().start_span(text.encodable(name), parent, SpanKind.INTERNAL, text.attributes(attributes))
        if self.recorded:
            begun(self)
            self.write(self.details())
        return self.inside(set_span_in_context(self.span, parent))

    def write(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Add attributes to the span, if it is open."""
        if self.span is not None:
            self.span.set_attributes(text.attributes(attributes))

    def closed(self, error: BaseException | None) -> None:
        """End the span. Cancellation and exit are no failure of the work."""
        if self.span is None:
            return
        ended(self)
        if isinstance(error, Exception):
            mark_failed(self.span, error)
        elif error is not None:
            self.span.set_attribute(semconv.CANCELLED, True)
        self.span.end()

    @guarded
    def forget(self) -> None:
        """The process ends before the work does."""
        if self.span is not None and not self._finished:
            self._finished = True
            ended(self)
            self.span.set_attribute(semconv.INCOMPLETE, True)
            self.span.end()


def mark_failed(span: Span, error: BaseException) -> None:
    """Give ``span`` the error's type and an error status; its text is content and stays out."""
    span.set_attribute(semconv.ERROR_TYPE, error_type(error))
    span.set_status(Status(StatusCode.ERROR, type(error).__name__))


def error_type(error: BaseException) -> str:
    """The class of ``error``, with its module unless that is a builtin."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
