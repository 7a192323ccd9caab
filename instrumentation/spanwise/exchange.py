"""One HTTP request, from before it is sent until the last byte of its answer was read, or nobody wants it any more."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar
from typing import Any
from weakref import ref

from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.connection import Connection, listen
from spanwise.safety import guarded
from spanwise.spanscope import mark_failed
from spanwise.unfinished import begun, ended

_BODY = "receive_response_body"
_CLOSED = "response_closed"

running: ContextVar[Exchange | None] = ContextVar("spanwise-http-exchange", default=None)
_open: set[Exchange] = set()  # whoever waits for a body holds the answer, and not us


class Exchange:
    """The span of the request. It ends once: when the body is over, the answer is dropped, or no answer came."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._connection = Connection()
        self._start = time.perf_counter()
        self._heard = False  # the library tells of this request, so that it will tell of the end, too
        self._over = False  # the answer is closed
        self._ended = False
        self._touched_ns = 0
        self._answer: ref[Any] | None = None
        self._lock = threading.RLock()
        _open.add(self)
        begun(self)

    def watch(self, extensions: MutableMapping[str, Any] | None, *, asynchronous: bool) -> None:
        """Listen to what the library tells of the request with these extensions."""
        listen(extensions, guarded(self._event), part="exchange", asynchronous=asynchronous)

    @guarded
    def answered(self, stream: object) -> None:
        """The headers are here, and ``stream`` will bring the body."""
        self.write({semconv.HTTP_HEADERS_TIME: time.perf_counter() - self._start, **self._connection.attributes()})
        self._touched_ns = time.time_ns()
        self._answer = ref(stream, lambda _: self.forget())

    @guarded
    def left(self) -> None:
        """The request was made, and its answer is for the caller to read."""
        if self._over or not self._heard or self._answer is None:
            self.end()

    @guarded
    def fail(self, error: BaseException) -> None:
        """No answer came, or it broke."""
        self._failed(error)
        self.end()

    @guarded
    def forget(self) -> None:
        """Nobody reads the answer any more, and nobody closed it: it was over when something last came."""
        if not self._ended:
            self.write({semconv.INCOMPLETE: True})
        self.end(self._touched_ns or None)

    @guarded
    def end(self, end_ns: int | None = None) -> None:
        """End the span. Only the first time counts."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
        _open.discard(self)
        ended(self)
        self._span.end(end_ns)

    def write(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Add to the span what has become known."""
        self._span.set_attributes(attributes)

    def _event(self, name: str, info: Mapping[str, Any]) -> None:
        if self._ended:  # the library tells of the next request, which was made from this one
            return
        self._heard = True
        place, _, moment = name.rpartition(".")
        step = place.rpartition(".")[2]
        if step == _CLOSED:
            self._over = moment != "started"
            if self._over and self._answer is not None:
                self.end()
        elif step == _BODY:
            self._touched_ns = time.time_ns()
            if moment == "failed":
                self._failed(info["exception"])
        elif self._answer is None:
            self._connection.event(name)

    def _failed(self, error: BaseException) -> None:
        self.write(self._connection.attributes())
        if isinstance(error, Exception):
            mark_failed(self._span, error)
        elif isinstance(error, asyncio.CancelledError):
            self.write({semconv.CANCELLED: True})
