"""Signals: what their handlers raise belongs to the program, wherever in our code it arrives."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise
from spanwise import safety

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals arrive on the main thread"
)


class Limit(Exception):
    """The program's time is up."""


def raising(_number: int, _frame: Any) -> None:
    raise Limit


def raising_of_any(*_arguments: Any) -> None:
    raise Limit


@contextmanager
def handled(handler: Any) -> Iterator[None]:
    earlier = signal.signal(signal.SIGALRM, handler)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


class Alarming:
    """A value whose text takes until the alarm."""

    def __str__(self) -> str:
        signal.raise_signal(signal.SIGALRM)
        return "late"


class Failing:
    """A value that cannot be looked at."""

    def __str__(self) -> str:
        raise Limit


@pytest.mark.parametrize("handler", [raising, raising_of_any])
def test_a_time_limit_is_the_programs(exporter: InMemorySpanExporter, handler: Any) -> None:
    with handled(handler), pytest.raises(Limit), spanwise.turn(agent=Alarming()):  # type: ignore[arg-type]
        pass  # pragma: no cover


@pytest.mark.parametrize("call", [safety.guarded(raising), safety.guarded(raising_of_any)])
def test_what_is_raised_in_a_guard_by_something_called_is_ours(monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    monkeypatch.delenv(safety.RAISE_VARIABLE, raising=False)
    assert call(14, None) is None


def test_a_value_that_cannot_be_looked_at_is_no_matter_of_the_program(exporter: InMemorySpanExporter) -> None:
    with spanwise.turn(agent=Failing()):  # type: ignore[arg-type]
        pass
    assert ["invoke_agent Failing"] == [span.name for span in exporter.get_finished_spans()]


class Counting(SpanProcessor):
    """Counts, without a lock: the SDK's own exporter for tests waits for itself here."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_end(self, span: ReadableSpan) -> None:
        """Count one more."""
        self.names.append(span.name)


def test_a_handler_may_open_a_turn_while_one_is_opened() -> None:
    counting, opened = Counting(), 0
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(counting)
    spanwise.instrument(tracer_provider=provider)

    def opening(_number: int, _frame: Any) -> None:
        nonlocal opened
        opened += 1
        with spanwise.turn(agent="handler"):
            pass

    try:
        with handled(opening):
            while opened < 300:
                signal.setitimer(signal.ITIMER_REAL, 0.0002)
                with spanwise.turn(agent="main"):
                    pass
    finally:
        spanwise.uninstrument()
    assert opened == counting.names.count("invoke_agent handler")
