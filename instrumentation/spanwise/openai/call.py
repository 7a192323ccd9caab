"""One model call: from the request until the last piece of the answer was read, failed or given up."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping
from typing import Any

from opentelemetry.context import Context, get_current
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.util.types import AttributeValue

from spanwise import semconv
from spanwise.background import Job
from spanwise.openai import wire
from spanwise.openai.attempts import Attempt, Attempts
from spanwise.openai.failure import cancelled, failure
from spanwise.openai.headers import header_attributes
from spanwise.openai.provider import target
from spanwise.openai.question import asked
from spanwise.openai.reader import Reader, reader
from spanwise.openai.route import Route
from spanwise.openai.study import study
from spanwise.safety import guarded
from spanwise.text import attributes as encodable_attributes
from spanwise.text import encodable
from spanwise.tracer import tracer
from spanwise.unfinished import begun, ended

_OK = 200
_calls = itertools.count()


class ModelCall:
    """The span of one call. It ends once, whichever of the ways to end comes first."""

    def __init__(self, route: Route, client: Any, body: Mapping[str, Any], *, streamed: bool) -> None:
        attributes = {**asked(route, body, streamed=streamed), **target(client)}
        attributes[semconv.CLIENT_FIRST_CALL] = next(_calls) == 0
        model = attributes.get(semconv.GEN_AI_REQUEST_MODEL)
        name = f"{route.operation} {model}" if model else route.operation
        self.streamed = streamed
        self._senders = id(client), id(getattr(client, "_client", None))
        self.reader: Reader = reader(route)
        self.pulling = False  # the SDK is reading the stream for the program right now
        self.tapped = False  # the SDK parses the stream, so that nobody else need read its body
        self._tracer = tracer()
        parent = get_current()
        self._start = time.perf_counter()
        self._span = self._tracer.start_span(encodable(name), parent, SpanKind.CLIENT, attributes)
        self.inside: Context = set_span_in_context(self._span, parent)
        self._route = route
        self._study: Job | None = None  # of the request
        self._attempts = Attempts()
        self._response: Any = None  # held until the SDK has made something of it
        self._known: dict[str, AttributeValue] = {}
        self._came: float | None = None  # when the first of the answer was here
        self._touched_ns = time.time_ns()
        self._process = os.getpid()
        self._endings = itertools.count()
        begun(self)

    def sends_by(self, sender: Any) -> bool:
        """Whether ``sender`` is the client of this call, or its HTTP client: others may be at work meanwhile."""
        return id(sender) in self._senders

    @guarded
    def attempt(self, request: Any) -> Attempt:
        """An HTTP request goes out."""
        if self._attempts.none:
            self._known[semconv.CLIENT_PREPARE_TIME] = time.perf_counter() - self._start
        if self._study is None and self._span.is_recording():
            self._study = study(self._span, self._route, request)
        return self._attempts.begin()

    @property
    def last_attempt(self) -> Attempt | None:
        """The HTTP request that went out last."""
        return self._attempts.last

    @guarded
    def answered(self, response: Any) -> None:
        """Its headers came back, and its whole body where it is not streamed."""
        self._response = response
        self._touched_ns = time.time_ns()
        if response.is_closed:
            self.arrived()
        self._known |= header_attributes(response.headers)

    def take_response(self) -> Any:
        """The HTTP response, once: who holds it longer keeps it from being dropped."""
        response, self._response = self._response, None
        return response

    def arrived(self) -> None:
        """Bytes of the body are here; the SDK has made nothing of them yet."""
        if self._came is None:
            self._came = time.perf_counter()

    @guarded
    def first_byte(self) -> None:
        """The body of a streamed answer begins."""
        self._known.setdefault(semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK, time.perf_counter() - self._start)

    @guarded
    def piece(self, chunk: Any) -> None:
        """The program gets a chunk or an event."""
        self.first_byte()
        self._parsed()
        self._touched_ns = time.time_ns()
        if self.reader.piece(chunk):
            self._known.setdefault(semconv.RESPONSE_TIME_TO_FIRST_CONTENT, time.perf_counter() - self._start)

    @guarded
    def whole(self, answer: Any, nbytes: int | None = None) -> None:
        """The program gets the whole answer."""
        self._parsed()
        if nbytes is not None:
            self._known[semconv.RESPONSE_BYTES] = nbytes
        self.reader.whole(answer)

    @guarded
    def read(self, response: Any) -> None:
        """All of the body is here, although the program did not have the SDK parse it."""
        self.received(len(response.content))
        if self.streamed:
            self.first_byte()
        wire.read(response, self.reader)

    @guarded
    def received(self, nbytes: int) -> None:
        """So many bytes of the body have come."""
        self._known[semconv.RESPONSE_BYTES] = nbytes

    def finish(self) -> None:
        """The answer was read to its end."""
        self._end({})

    def leave(self) -> None:
        """Nothing more will be read; that is before the end, unless the model had already come to one."""
        self._end(self._left())

    def forget(self) -> None:
        """The program dropped the answer without closing it: the work ended when it last touched it."""
        self._end(self._left(), self._touched_ns)

    def fail(self, error: BaseException) -> None:
        """The request or the stream broke, or was cancelled."""
        self._salvage()
        if cancelled(error):
            self._end({semconv.CANCELLED: True, semconv.INCOMPLETE: True})
        else:
            self._end(failure(error), error=type(error).__name__)

    @guarded
    def _salvage(self) -> None:
        """An answer that came and could not be parsed was paid for all the same."""
        response = self.take_response()
        if response is not None and response.status_code == _OK and response.is_closed:
            self.read(response)

    def _parsed(self) -> None:
        if self._came is not None:
            self._known.setdefault(semconv.CLIENT_PARSE_TIME, time.perf_counter() - self._came)

    def _left(self) -> dict[str, AttributeValue]:
        return {} if self.reader.record.complete else {semconv.INCOMPLETE: True}

    @guarded
    def _end(self, outcome: dict[str, AttributeValue], end_ns: int | None = None, error: str = "") -> None:
        # A fork copies open calls, which are the parent's to end. Counting needs no lock: a garbage collection
        # may come here in the middle of an ending, on the same thread.
        if self._process != os.getpid() or next(self._endings):
            return
        ended(self)
        end = end_ns or time.time_ns()
        # Whatever of our own goes wrong with the details, the span ends.
        try:
            self._details(outcome)
            self._attempts.write(self._tracer, self.inside, end)
        finally:
            if reason := error or self.reader.record.error:
                self._span.set_status(Status(StatusCode.ERROR, encodable(reason)))
            self._span.end(end)

    def _details(self, outcome: dict[str, AttributeValue]) -> None:
        self.reader.end()
        found = self.reader.record.attributes() | self._attempts.attributes() | self._known | outcome
        if self._study is not None:
            self._study.finish()
        self._span.set_attributes(encodable_attributes(found))
