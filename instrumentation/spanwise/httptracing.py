"""The tracer that the official HTTP instrumentors get: its spans go on until the body is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, use_span

from spanwise import tracer
from spanwise.addressing import clean
from spanwise.exchange import Exchange, running


class BodyTracers(trace.TracerProvider):
    """Gives out tracers of the provider that ``instrument`` chose, for spans of HTTP requests."""

    def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
        """A tracer whose spans are exchanges."""
        return _BodyTracer(tracer.provider().get_tracer(*args, **kwargs))


class _BodyTracer(trace.Tracer):
    def __init__(self, original: trace.Tracer) -> None:
        self._original = original

    def start_span(self, *args: Any, **kwargs: Any) -> Span:
        return self._original.start_span(*args, **kwargs)

    @contextmanager
    def start_as_current_span(self, name: str, *args: Any, **kwargs: Any) -> Iterator[Span]:  # type: ignore[override] # a superset
        kwargs["attributes"] = clean(kwargs.get("attributes") or {})
        span = self._original.start_span(name, *args, **kwargs)
        # The span of an error tells its type: its text may hold an address.
        current = use_span(span, end_on_exit=False, record_exception=False, set_status_on_exception=False)
        with current, _exchange(span):
            yield span


@contextmanager
def _exchange(span: Span) -> Iterator[None]:
    if not span.is_recording():
        yield
        return
    exchange = Exchange(span)
    token = running.set(exchange)
    try:
        yield
    except BaseException as error:
        exchange.fail(error)
        raise
    finally:
        running.reset(token)
    exchange.left()
