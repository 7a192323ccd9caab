"""Senders of numbered spans over both transports, which write down what was acknowledged."""

from __future__ import annotations

import http.client
import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tests.collector.faults.served import PATIENCE_S, Served

SPANS = 50  # in each request
_PATH = "/v1/traces"
_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_START_NS = 1_700_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Counts:
    """Spans sent, acknowledged, stored; of the acknowledged ones, how many are not stored."""

    sent: int
    acknowledged: int
    stored: int
    missing: int


class Refused(Exception):
    """The server asked for a later retry, as OTLP wants it."""


class Lost(Exception):
    """No answer."""


class Sender(Protocol):
    """One connection."""

    def send(self, body: bytes) -> None:
        """Return when acknowledged; raise Refused or Lost."""

    def close(self) -> None:
        """Give up the connection."""


class HttpSender:
    """OTLP/HTTP."""

    def __init__(self, server: Served) -> None:
        self._connection = http.client.HTTPConnection(server.http, timeout=PATIENCE_S)

    def send(self, body: bytes) -> None:
        """One request; anything but 200 and a retryable 503 is an error of the test."""
        try:
            self._connection.request("POST", _PATH, body, {"Content-Type": "application/x-protobuf"})
            answer = self._connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Lost(repr(error)) from error
        if answer.status == http.client.SERVICE_UNAVAILABLE and answer.headers["Retry-After"] in {"1", "2", "3"}:
            raise Refused(said.decode(errors="replace"))
        assert (answer.status, said) == (200, b"")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class GrpcSender:
    """OTLP/gRPC."""

    def __init__(self, server: Served) -> None:
        self._channel = grpc.insecure_channel(server.grpc)
        self._export = self._channel.unary_unary(_METHOD)

    def send(self, body: bytes) -> None:
        """One request; anything but OK, a retryable UNAVAILABLE and a broken connection is an error of the test."""
        try:
            assert self._export(body, timeout=PATIENCE_S) == b""
        except grpc.RpcError as error:
            trailers = {name for name, _ in error.trailing_metadata() or ()}
            if error.code() not in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}:
                raise
            if {"google.rpc.retryinfo-bin", "grpc-status-details-bin"} <= trailers:
                raise Refused(error.details()) from error
            raise Lost(error.details()) from error

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()


@dataclass
class Load:
    """Threads that send until they are stopped; ``server`` may be replaced while they run."""

    server: Served
    payload: str = ""
    pause_s: float = 0.05  # before a refused or unanswered request is sent again
    sent: set[int] = field(default_factory=set)
    acknowledged: set[int] = field(default_factory=set)
    refusals: Counter[str] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)
    odd: list[BaseException] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _finishing: threading.Event = field(default_factory=threading.Event)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, kind: Callable[[Served], Sender]) -> None:
        """One thread's work."""
        line = _Line(self, kind)
        try:
            while not self._finishing.is_set():
                self._deliver(line)
        except BaseException as error:  # noqa: BLE001  # raised where the threads are joined
            self.odd.append(error)
        finally:
            line.close()

    def count(self, number: int) -> None:
        """Wait until this many requests are acknowledged altogether."""
        deadline = time.monotonic() + PATIENCE_S
        while len(self.acknowledged) < number and not self.odd:
            assert time.monotonic() < deadline, f"only {len(self.acknowledged)} of {number} acknowledged"
            time.sleep(0.01)

    def more(self, number: int = 20) -> None:
        """Wait until this many further requests are acknowledged."""
        self.count(len(self.acknowledged) + number)

    def refused(self, number: int = 1) -> None:
        """Wait until this many more requests are refused."""
        enough, deadline = self.refusals.total() + number, time.monotonic() + PATIENCE_S
        while self.refusals.total() < enough:
            assert time.monotonic() < deadline, "nothing is refused"
            time.sleep(0.01)

    def finish(self) -> None:
        """Start nothing new; what is refused is sent again until it is acknowledged."""
        self._finishing.set()

    def stop(self) -> None:
        """Give up what is not acknowledged yet."""
        self._finishing.set()
        self._stopped.set()

    def counts(self, stored: Mapping[int, int]) -> Counts:
        """The balance, printed."""
        missing = sum(SPANS - stored.get(number, 0) for number in self.acknowledged)
        found = Counts(len(self.sent) * SPANS, len(self.acknowledged) * SPANS, sum(stored.values()), missing)
        sys.stdout.write(f"{found}, refused requests {self.refusals.total()}\n")
        assert set(stored) <= self.sent
        return found

    def _deliver(self, line: _Line) -> None:
        number = self.number()
        body = request(number, self.payload)
        while not self._stopped.is_set():
            if self._sent(line, body):
                with self._lock:
                    self.acknowledged.add(number)
                return
            self._stopped.wait(self.pause_s)

    def _sent(self, line: _Line, body: bytes) -> bool:
        began = time.monotonic()
        try:
            line.send(body)
        except Refused as refused:
            self._note(str(refused), began)
            return False
        except Lost:
            return False
        self._note(None, began)
        return True

    def _note(self, refusal: str | None, began: float) -> None:
        with self._lock:
            self.waits_s.append(time.monotonic() - began)
            if refusal is not None:
                self.refusals[refusal] += 1

    def number(self) -> int:
        """The next number, noted as sent."""
        with self._lock:
            number = next(self._numbers)
            self.sent.add(number)
            return number


class _Line:
    """One thread's connection to whatever server there is now."""

    def __init__(self, load: Load, kind: Callable[[Served], Sender]) -> None:
        self._load, self._kind = load, kind
        self._server: Served | None = None
        self._sender: Sender | None = None

    def send(self, body: bytes) -> None:
        if self._sender is None or self._server is not self._load.server:
            self.close()
            self._server = self._load.server
            self._sender = self._kind(self._server)
        self._sender.send(body)

    def close(self) -> None:
        if self._sender is not None:
            self._sender.close()


@contextmanager
def loading(server: Served, *, payload: str = "", senders: int = 2, **more: Any) -> Iterator[Load]:
    """Load from this many senders a transport; stopped, joined and checked at the end of the block."""
    load = Load(server, payload, **more)
    kinds: list[Callable[[Served], Sender]] = [HttpSender, GrpcSender]
    threads = [threading.Thread(target=load.run, args=(kind,)) for kind in kinds * senders]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.stop()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert load.odd == []
    assert not any(thread.is_alive() for thread in threads)


def request(number: int, payload: str = "") -> bytes:
    """A request whose trace has this number."""
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = f"sender-{number % 7}"
    spans = resource.scope_spans.add().spans
    for index in range(SPANS):
        _fill(spans.add(), number, index, payload)
    return bytes(message.SerializeToString())


def _fill(span: Span, number: int, index: int, payload: str) -> None:
    span.trace_id, span.span_id = number.to_bytes(16, "big"), (index + 1).to_bytes(8, "big")
    span.parent_span_id = (1).to_bytes(8, "big") if index else b""
    span.name, span.kind = ("chat small", Span.SPAN_KIND_CLIENT) if index % 5 else ("step", Span.SPAN_KIND_INTERNAL)
    span.start_time_unix_nano = _START_NS + number * 1_000_000 + index * 1_000
    span.end_time_unix_nano = span.start_time_unix_nano + 900
    values = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": f"c-{number}", "payload": payload}
    for key, value in values.items():
        span.attributes.add(key=key).value.string_value = value
