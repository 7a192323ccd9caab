"""The wall between our code and the traced program: what fails in here never fails out there."""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

RAISE_VARIABLE = "SPANWISE_RAISE"  # our own tests set it: there a fault of ours must be seen

_log = logging.getLogger("spanwise")
_seen: set[tuple[str, str]] = set()
_lock = threading.RLock()  # a stream that is collected meanwhile may report, too


def guarded(fn: Callable[P, R]) -> Callable[P, R | None]:
    """Make ``fn`` return None where it would raise an Exception; the fault is logged once.

    BaseExceptions that are no Exception (cancellation, interrupts) belong to the program and pass through.
    """

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return fn(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is ours and must not get out
            let_through(error)
            report(error)
            return None

    return wrapper


@contextmanager
def shield() -> Iterator[None]:
    """Swallow an Exception of our own code inside the block; the fault is logged once."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - as above
        let_through(error)
        report(error)


def let_through(error: Exception) -> None:
    """Raise what is not ours: the handler of a signal, as of a time limit, raised it in the midst of our code."""
    if _handles_signal(error.__traceback__):
        raise error


def _handles_signal(trace: TracebackType | None) -> bool:
    # Python hands such a handler the very frame that it interrupts; nobody else is given that of its caller.
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_back is not None and any(_holds(found, frame.f_back) for found in frame.f_locals.values()):
            return True
        trace = trace.tb_next
    return False


def _holds(found: object, frame: FrameType) -> bool:
    return found is frame or (type(found) is tuple and any(item is frame for item in found))


def report(error: Exception) -> None:
    """Log a fault of ours once per place and type; re-raise it where ``SPANWISE_RAISE=1``."""
    if os.environ.get(RAISE_VARIABLE) == "1":
        raise error
    if _first_time(type(error).__name__, _place(error)):
        _log.warning("spanwise could not record telemetry; the program goes on", exc_info=error)


def tell(message: str) -> None:
    """Log, once, that the program gave us something we cannot use."""
    if _first_time("", message):
        _log.warning("spanwise: %s", message)


def _first_time(name: str, place: str) -> bool:
    with _lock:
        if (name, place) in _seen:
            return False
        _seen.add((name, place))
        return True


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
