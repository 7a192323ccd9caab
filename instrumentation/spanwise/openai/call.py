"""One model call: from the request until the last piece of the answer was read, failed or given up."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from opentelemetry.context import attach, detach, get_current
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.util.types import AttributeValue

from spanwise import hashing, semconv
from spanwise.openai import wire
from spanwise.openai.attempts import Attempt, Attempts
from spanwise.openai.chat import ChatReader
from spanwise.openai.embeddings import EmbeddingsReader
from spanwise.openai.request import request_attributes
from spanwise.openai.responses import ResponsesReader
from spanwise.openai.route import EMBEDDINGS, RESPONSES, Route, provider_name
from spanwise.safety import guarded, shield
from spanwise.spanscope import error_type
from spanwise.text import attributes as encodable_attributes
from spanwise.text import encodable
from spanwise.tracer import tracer
from spanwise.unfinished import begun, ended

_PROCESSING = "openai-processing-ms"
_OK = 200

current: ContextVar[ModelCall | None] = ContextVar("spanwise-model-call", default=None)
_calls = itertools.count()


class ModelCall:
    """The span of one call. It ends once, whichever of the ways to end comes first."""

    def __init__(self, route: Route, client: Any, body: Mapping[str, Any]) -> None:
        attributes = request_attributes(route, body) | _target(client)
        attributes[semconv.CLIENT_FIRST_CALL] = next(_calls) == 0
        model = attributes.get(semconv.GEN_AI_REQUEST_MODEL)
        name = f"{route.operation} {model}" if model else route.operation
        self.streamed = body.get("stream") is True
        self.reader = _reader(route)
        self.pulling = False  # the SDK is reading the stream for the program right now
        self._parent = get_current()
        self._start = time.perf_counter()
        self._span = tracer().start_span(
            encodable(name), self._parent, SpanKind.CLIENT, encodable_attributes(attributes)
        )
        self._inside = set_span_in_context(self._span, self._parent)
        self._attempts = Attempts()
        self._attempt: Attempt | None = None
        self._response: Any = None  # held until the SDK has made something of it
        self._moments: dict[str, AttributeValue] = {}
        self._touched_ns = time.time_ns()
        self._lock = threading.Lock()
        self._ended = False
        begun(self)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """While the SDK sends the request, spans belong to this call; a fault of the request ends it."""
        token, mark = attach(self._inside), current.set(self)
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        finally:
            current.reset(mark)
            detach(token)

    @guarded
    def attempt(self, request: Any) -> None:
        """An HTTP request goes out."""
        self._attempt = self._attempts.begin()
        if self._span.is_recording() and semconv.REQUEST_BYTES not in self._moments:
            self._moments |= _body(request)

    @property
    def last_attempt(self) -> Attempt | None:
        """The HTTP request that went out last."""
        return self._attempt

    @guarded
    def answered(self, response: Any) -> None:
        """Its headers came back."""
        self._response = response
        if self._attempt is not None:
            self._attempt.answered(response.status_code)
        milliseconds = response.headers.get(_PROCESSING)
        with shield():
            if milliseconds is not None:
                self._moments[semconv.RESPONSE_SERVER_TIME] = _seconds(milliseconds)
        self._touched_ns = time.time_ns()

    def take_response(self) -> Any:
        """The HTTP response, once: who holds it longer keeps it from being dropped."""
        response, self._response = self._response, None
        return response

    @guarded
    def first_byte(self) -> None:
        """The body of a streamed answer begins."""
        self._moments.setdefault(semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK, time.perf_counter() - self._start)

    @guarded
    def piece(self, chunk: Any) -> None:
        """The program gets a chunk or an event."""
        self.first_byte()
        self._touched_ns = time.time_ns()
        if self.reader.piece(chunk):
            self._moments.setdefault(semconv.RESPONSE_TIME_TO_FIRST_CONTENT, time.perf_counter() - self._start)

    @guarded
    def whole(self, answer: Any, nbytes: int | None = None) -> None:
        """The program gets the whole answer."""
        if nbytes is not None:
            self._moments[semconv.RESPONSE_BYTES] = nbytes
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
        self._moments[semconv.RESPONSE_BYTES] = nbytes

    def finish(self) -> None:
        """The answer was read to its end."""
        self._end({})

    def leave(self) -> None:
        """The program closed the answer; before its end, unless the model had already come to one."""
        self._end(self._left())

    def forget(self) -> None:
        """The program dropped the answer without closing it: the work ended when it last touched it."""
        self._end(self._left(), self._touched_ns)

    def fail(self, error: BaseException) -> None:
        """The request or the stream broke, or was cancelled."""
        self._salvage()
        if isinstance(error, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt | SystemExit):
            self._end({semconv.CANCELLED: True, semconv.INCOMPLETE: True})
        else:
            self._end({semconv.ERROR_TYPE: error_type(error)}, error=type(error).__name__)

    @guarded
    def _salvage(self) -> None:
        """An answer that came and could not be parsed was paid for all the same."""
        response = self.take_response()
        if response is not None and response.status_code == _OK and response.is_closed:
            self.read(response)

    def _left(self) -> dict[str, AttributeValue]:
        return {} if self.reader.record.complete else {semconv.INCOMPLETE: True}

    @guarded
    def _end(self, outcome: dict[str, AttributeValue], end_ns: int | None = None, error: str = "") -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        ended(self)
        end = end_ns or time.time_ns()
        # Whatever of our own goes wrong with the details, the span ends.
        try:
            self._details(outcome)
            self._attempts.write(self._inside, end)
        finally:
            if failure := error or self.reader.record.error:
                self._span.set_status(Status(StatusCode.ERROR, encodable(failure)))
            self._span.end(end)

    def _details(self, outcome: dict[str, AttributeValue]) -> None:
        self.reader.end()
        record = self.reader.record
        if record.error:
            self._span.set_attribute(semconv.ERROR_TYPE, encodable(record.error))
        self._span.set_attributes(encodable_attributes(record.attributes()))
        self._span.set_attributes(self._attempts.attributes())
        self._span.set_attributes(self._moments)
        self._span.set_attributes(outcome)


def _reader(route: Route) -> ChatReader | ResponsesReader | EmbeddingsReader:
    if route is RESPONSES:
        return ResponsesReader()
    return EmbeddingsReader() if route is EMBEDDINGS else ChatReader()


def _target(client: Any) -> dict[str, AttributeValue]:
    url = getattr(client, "base_url", None)
    found: dict[str, AttributeValue] = {semconv.GEN_AI_PROVIDER_NAME: provider_name(client)}
    if host := str(getattr(url, "host", "") or ""):
        found[semconv.SERVER_ADDRESS] = host
        found[semconv.SERVER_PORT] = getattr(url, "port", None) or (80 if getattr(url, "scheme", "") == "http" else 443)
    return found


@guarded
def _seconds(milliseconds: str) -> float:
    return float(milliseconds) / 1000


def _body(request: Any) -> dict[str, AttributeValue]:
    try:
        data = request.content
    except Exception:  # noqa: BLE001 - httpx and httpx2 each have their own RequestNotRead: a body that is streamed
        return {}
    return {
        semconv.REQUEST_BYTES: len(data),
        semconv.REQUEST_HASH: hashing.hashed(data),
        semconv.HASH_KEY_ID: hashing.key_id(),
    }
