from __future__ import annotations

import gzip
import http.server
import json
import logging
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise_collector.forwarding import Counts, Forwarder, target
from spanwise_collector.receiver import Bound, Receiver
from spanwise_collector.receiver.answer import retry_trailers
from spanwise_collector.settings import ReceiverSettings
from spanwise_collector.store import Store

LIMIT_S = 20.0
GRACE_S = 5.0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def receiving(file: Path, forwarder: Forwarder | None = None) -> Iterator[tuple[Store, Bound]]:
    """A receiver in front of a store, which ends in the order of the server."""
    with ExitStack() as parts:
        if forwarder:
            forwarder.start()
            parts.callback(forwarder.stop, GRACE_S)
        store = Store.open(file)
        parts.callback(store.close)
        settings = ReceiverSettings(otlp_grpc_port=0, otlp_http_port=0)
        receiver = Receiver(store, settings, forward=forwarder.offer if forwarder else None)
        bound = receiver.start()
        parts.callback(receiver.stop)
        yield store, bound


def post(bound: Bound, body: bytes, media_type: str = "application/x-protobuf") -> float:
    """Send a request that must be taken; returns seconds until the answer."""
    began = time.perf_counter()
    asked = urllib.request.Request(f"{bound.http}/v1/traces", body, {"Content-Type": media_type})  # noqa: S310
    with urllib.request.urlopen(asked, timeout=LIMIT_S) as answer:  # noqa: S310
        assert answer.status == 200
    return time.perf_counter() - began


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers as its server was told, in turn, the last one for ever; remembers what came."""

    server: Web

    def do_POST(self) -> None:
        """Answer the next one."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.came.append((time.monotonic(), dict(self.headers), body))
        status, headers = self.server.answers[min(len(self.server.came), len(self.server.answers)) - 1]
        self.send_response(status)
        for name, value in {"content-length": "0", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Web(http.server.ThreadingHTTPServer):
    """A target over HTTP that answers as told."""

    def __init__(self, *answers: tuple[int, Mapping[str, str]]) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.answers = answers
        self.came: list[tuple[float, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(*answers: tuple[int, Mapping[str, str]]) -> Iterator[Web]:
    web = Web(*answers)
    thread = threading.Thread(target=web.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield web
    finally:
        web.shutdown()
        thread.join()
        web.server_close()


@contextmanager
def hole(*, drip: bool = False) -> Iterator[str]:
    """A port that takes connections and everything sent, and never answers, or one byte every now and then."""
    listener = socket.create_server(("127.0.0.1", 0))
    ending = threading.Event()

    def swallow(connection: socket.socket) -> None:
        with connection:
            while not ending.wait(0.05):
                try:
                    if drip:
                        connection.sendall(b"H")
                except OSError:
                    return

    def accept() -> None:
        threads = []
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                break
            threads.append(threading.Thread(target=swallow, args=(connection,)))
            threads[-1].start()
        for thread in threads:
            thread.join()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ending.set()
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        listener.close()


def forwarding(*urls: str, **more: Any) -> Forwarder:
    return Forwarder([target(url) for url in urls], more.pop("headers", {}), **more)


def only(forwarder: Forwarder) -> Counts:
    (found,) = forwarder.counts().values()
    return found


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_another_receiver_gets_everything_stored_protobuf_and_json_alike(
    tmp_path: Path, otlp: Any, scheme: str
) -> None:
    with receiving(tmp_path / "last.db") as (last, bound):
        url = bound.http if scheme == "http" else f"grpc://{bound.grpc}"
        with receiving(tmp_path / "first.db", forwarding(url)) as (first, front):
            for number in range(20):
                post(front, otlp.body(otlp.span(f"work-{number}")))
            trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
            spans = [{"traceId": trace, "spanId": span, "name": "json"}]
            document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
            post(front, json.dumps(document).encode(), "application/json")
            with grpc.insecure_channel(front.grpc) as channel:
                export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
                export(otlp.body(otlp.span("by grpc")), timeout=LIMIT_S)
            stored = first.reader().trace(trace)
        assert len(stored) == 22
        assert stored == last.reader().trace(trace)


def test_the_original_bytes_go_compressed_with_the_headers_of_the_settings(tmp_path: Path, otlp: Any) -> None:
    body = otlp.body(otlp.span()) + b"\x9a\x06\x02hi"  # and a field of the future
    with serving((200, {})) as web:
        with receiving(tmp_path / "a.db", forwarding(web.url, headers={"authorization": "Bearer x"})) as (_, front):
            post(front, body)
        ((_, headers, packed),) = web.came
    assert gzip.decompress(packed) == body
    found = {name.lower(): value for name, value in headers.items()}
    assert ("Bearer x", "application/x-protobuf") == (found["authorization"], found["content-type"])


def test_what_is_refused_or_cannot_be_stored_is_not_forwarded(tmp_path: Path, otlp: Any) -> None:
    with serving((200, {})) as web:
        with receiving(tmp_path / "a.db", forwarding(web.url)) as (store, front):
            with pytest.raises(urllib.error.HTTPError):
                post(front, b"\xff\xff")
            post(front, b"")
            store._database.cursor().execute("DROP TABLE touches")
            with pytest.raises(urllib.error.HTTPError):
                post(front, otlp.body(otlp.span()))
            assert store.reader().seq() == 0
        assert web.came == []


def test_a_busy_target_is_left_alone_as_long_as_it_asks_and_then_gets_it_once(otlp: Any) -> None:
    with serving((503, {"retry-after": "2"}), (429, {}), (200, {})) as web:
        forwarder = forwarding(web.url)
        forwarder.start()
        forwarder.offer(otlp.body(otlp.span()), 1)
        until(lambda: only(forwarder).forwarded == 1)
        forwarder.stop(GRACE_S)
        times = [at for at, _, _ in web.came]
    assert len(times) == 3
    assert 1.9 < times[1] - times[0] < 3


@pytest.mark.parametrize("status", [400, 401, 404, 413, 500, 301])
def test_a_refusal_drops_the_request_and_is_told_once(otlp: Any, status: int, caplog: pytest.LogCaptureFixture) -> None:
    with serving((status, {"location": "/other"})) as web:
        forwarder = forwarding(web.url)
        forwarder.start()
        for _ in range(5):
            forwarder.offer(otlp.body(otlp.span(), otlp.span()), 2)
        until(lambda: only(forwarder) == Counts(dropped=10))
        forwarder.stop(GRACE_S)
        assert len(web.came) == 5
    (told,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert f"answered {status}" in told.getMessage()


@pytest.mark.parametrize("kind", ["dead", "silent", "dripping", "refusing"])
def test_no_target_delays_an_acknowledgement_or_loses_what_is_stored(tmp_path: Path, otlp: Any, kind: str) -> None:
    with ExitStack() as parts:
        urls: dict[str, Callable[[], str]] = {
            "dead": lambda: "grpc://127.0.0.1:1",
            "silent": lambda: parts.enter_context(hole()),
            "dripping": lambda: parts.enter_context(hole(drip=True)),
            "refusing": lambda: parts.enter_context(serving((503, {"retry-after": "1"}))).url,
        }
        forwarder = Forwarder([target(urls[kind]())], {}, queue_bytes=2_000, timeout_s=0.3)
        body = otlp.body(otlp.span(attributes={"text": "x" * 900}))
        with receiving(tmp_path / "a.db", forwarder) as (store, front):
            took = [post(front, body) for _ in range(20)]
            assert store.reader().stored() == 20
            counts = only(forwarder)
            assert (counts.forwarded, counts.dropped) == (0, 19)
            assert 0 < counts.nbytes <= 2_000
            began = time.monotonic()
            forwarder.stop(0.5)
            assert time.monotonic() - began < 3
        assert max(took) < 2


def test_a_target_that_comes_back_gets_what_waited(tmp_path: Path, otlp: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    forwarder = forwarding(f"http://127.0.0.1:{port}")
    forwarder.start()
    forwarder.offer(otlp.body(otlp.span()), 1)
    time.sleep(0.2)
    store = Store.open(tmp_path / "late.db")
    receiver = Receiver(store, ReceiverSettings(otlp_grpc_port=0, otlp_http_port=port))
    receiver.start()
    until(lambda: only(forwarder) == Counts(forwarded=1))
    forwarder.stop(GRACE_S)
    receiver.stop()
    assert store.reader().stored() == 1
    store.close()


GrpcAnswer = tuple[grpc.StatusCode, bool]


@contextmanager
def answering(*answers: GrpcAnswer) -> Iterator[tuple[str, list[bytes]]]:
    """A gRPC target that aborts with each status in turn, with or without RetryInfo, then takes everything."""
    came: list[bytes] = []

    def export(request: bytes, context: Any) -> bytes:
        came.append(request)
        if len(came) <= len(answers):
            code, with_info = answers[len(came) - 1]
            if with_info:
                context.set_trailing_metadata(retry_trailers("later", 1))
            context.abort(code, "not now")
        return b""

    with ThreadPoolExecutor(2) as executor:
        server = grpc.server(executor)
        method = {"Export": grpc.unary_unary_rpc_method_handler(export)}
        name = "opentelemetry.proto.collector.trace.v1.TraceService"
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(name, method)])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"grpc://127.0.0.1:{port}", came
        server.stop(None).wait()


@pytest.mark.parametrize(
    ("answer", "tries", "counts"),
    [
        ((grpc.StatusCode.ABORTED, False), 2, Counts(forwarded=1)),
        ((grpc.StatusCode.RESOURCE_EXHAUSTED, True), 2, Counts(forwarded=1)),
        ((grpc.StatusCode.RESOURCE_EXHAUSTED, False), 1, Counts(dropped=1)),
        ((grpc.StatusCode.INVALID_ARGUMENT, True), 1, Counts(dropped=1)),
    ],
)
def test_grpc_is_retried_where_otlp_says_so(otlp: Any, answer: GrpcAnswer, tries: int, counts: Counts) -> None:
    with answering(answer) as (url, came):
        forwarder = forwarding(url)
        forwarder.start()
        body = otlp.body(otlp.span())
        forwarder.offer(body, 1)
        until(lambda: only(forwarder) == counts)
        forwarder.stop(GRACE_S)
        assert [body] * tries == came
        assert len(ExportTraceServiceRequest.FromString(came[0]).resource_spans) == 1
