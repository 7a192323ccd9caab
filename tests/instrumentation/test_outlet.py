"""The way out: it never delays the program or its end, and what it loses it counts."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import openai
import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from tests.instrumentation.model import ModelServer, Reply, completion, normal_chunks

import spanwise
from spanwise import semconv
from spanwise.endpoint import GRPC, HTTP, Endpoint, exporter, listener
from spanwise.outlet import Outlet

NOBODY = "http://127.0.0.1:9"


class Collector:
    """A real OTLP/HTTP receiver that keeps what it gets."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        """Base URL."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def start(self) -> threading.Thread:
        """Serve from now on."""
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        return thread

    def stop(self, thread: threading.Thread) -> None:
        """Serve no more."""
        self._http.shutdown()
        self._http.server_close()
        thread.join()

    def raw(self) -> list[Span]:
        """All spans as they came."""
        groups = [group for request in self.requests for group in request.resource_spans]
        return [span for group in groups for scope in group.scope_spans for span in scope.spans]

    def raw_by_start(self) -> list[Span]:
        """All spans in the order in which they began."""
        return sorted(self.raw(), key=lambda span: span.start_time_unix_nano)

    def spans(self) -> list[tuple[str, int]]:
        """Name of each span, and the process that its resource names."""
        found = []
        for request in self.requests:
            for group in request.resource_spans:
                pids = [pair.value.int_value for pair in group.resource.attributes if pair.key == semconv.PROCESS_PID]
                found += [(span.name, pids[0] if pids else 0) for scope in group.scope_spans for span in scope.spans]
        return found

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                collector.headers.append(dict(self.headers))
                collector.requests.append(ExportTraceServiceRequest.FromString(data))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Keep the test's output clean."""

        return Handler


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    thread = made.start()
    yield made
    made.stop(thread)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "opentelemetry")


def run(code: str, *, endpoint: str) -> subprocess.CompletedProcess[str]:
    """``code`` in a process of its own, with ``endpoint`` as its collector."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    environ = kept | {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
    return subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60, check=True
    )


@pytest.mark.parametrize("protocol", [HTTP, GRPC])
def test_closing_without_a_collector_takes_two_seconds_at_most_and_tells_what_was_lost(
    protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    """D-45."""
    provider = TracerProvider(shutdown_on_exit=False)
    target = Endpoint(protocol, NOBODY, chosen=False)
    outlet = Outlet(lambda: exporter(target), listener(target))
    for _ in range(3):
        outlet.put(ended(provider))
    began = time.monotonic()
    with caplog.at_level(logging.WARNING, "spanwise"):
        outlet.close(1.0)
    assert time.monotonic() - began < 2.0
    assert outlet.lost == 3
    assert "3 spans were lost" in caplog.text


def ended(provider: TracerProvider) -> ReadableSpan:
    span = provider.get_tracer("t").start_span("s")
    span.end()
    assert isinstance(span, ReadableSpan)
    return span


def test_a_program_ends_in_time_although_its_collector_is_away() -> None:
    """D-45, the whole way: exit code 0, and the end waits for less than two seconds."""
    code = """
import time, spanwise
spanwise.instrument()
with spanwise.turn(): pass
began = time.monotonic()
from opentelemetry import trace
trace.get_tracer_provider().shutdown()
print(time.monotonic() - began)
"""
    assert float(run(code, endpoint=NOBODY).stdout) < 2.0


def test_everything_is_delivered_at_exit(collector: Collector) -> None:
    code = """
import spanwise
spanwise.instrument("shop")
for _ in range(600):
    with spanwise.step("s"): pass
"""
    run(code, endpoint=collector.url)
    assert len(collector.spans()) == 600


def slow_answer(_request: httpx2.Request) -> httpx2.Response:
    time.sleep(0.02)
    return httpx2.Response(200, json=completion())


def test_an_absent_collector_slows_no_call_down() -> None:
    """D-46: ten calls of 20 ms."""
    provider = TracerProvider(shutdown_on_exit=False)
    spanwise.uninstrument()
    spanwise.instrument(
        tracer_provider=provider, span_exporter=exporter(Endpoint(HTTP, NOBODY + "/v1/traces", chosen=True))
    )
    transport = httpx2.MockTransport(slow_answer)
    client = openai.OpenAI(base_url="http://model/v1", api_key="k", http_client=httpx2.Client(transport=transport))
    try:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "warm up"}])
        began = time.monotonic()
        for _ in range(10):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        assert time.monotonic() - began < 0.7
    finally:
        spanwise.uninstrument()


class Blocked(SpanExporter):
    """Takes nothing until it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.entered = threading.Event()
        self.taken = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Wait, then take them."""
        self.entered.set()
        self.released.wait(10)
        self.taken += len(spans)
        return SpanExportResult.SUCCESS


def test_what_a_full_queue_drops_is_counted(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """D-47: sent and dropped make what was put in, and one warning tells of it."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "50")
    blocked, provider = Blocked(), TracerProvider(shutdown_on_exit=False)
    outlet, span = Outlet(lambda: blocked), ended(provider)
    for _ in range(50):
        outlet.put(span)
    assert blocked.entered.wait(5)
    for _ in range(4950):
        outlet.put(span)
    blocked.released.set()
    with caplog.at_level(logging.WARNING, "spanwise"):
        outlet.close(5)
    assert blocked.taken == 150
    assert outlet.lost == 5000 - 150
    assert [record.getMessage() for record in caplog.records if record.name == "spanwise"] == [
        "4850 spans were lost: they ended faster than they could be sent"
    ]


def test_each_process_of_a_fork_sends_its_own_spans_under_its_own_name(collector: Collector) -> None:
    """D-48."""
    code = """
import os, spanwise, sys
spanwise.instrument()
with spanwise.step("parent"): pass
child = os.fork()
if child == 0:
    with spanwise.step("child"): pass
    sys.exit(0)
os.waitpid(child, 0)
print(os.getpid(), child)
"""
    parent, child = map(int, run(code, endpoint=collector.url).stdout.split())
    assert sorted(collector.spans()) == [("agent.step.child", child), ("agent.step.parent", parent)]


def test_a_child_that_leaves_by_force_after_a_flush_has_delivered(collector: Collector) -> None:
    """D-48: os._exit."""
    code = """
import os, spanwise
from opentelemetry import trace
spanwise.instrument()
child = os.fork()
if child == 0:
    with spanwise.step("child"): pass
    trace.get_tracer_provider().force_flush()
    os._exit(0)
os.waitpid(child, 0)
"""
    run(code, endpoint=collector.url)
    assert [name for name, _ in collector.spans()] == ["agent.step.child"]


def test_a_stream_still_open_at_exit_is_sent_as_incomplete(collector: Collector, model: ModelServer) -> None:
    """Also where the first finalizer was registered before us, and so runs after the provider's shutdown."""
    model.replies = [Reply(events=normal_chunks())]
    code = f"""
import weakref
class Thing: pass
thing = Thing()
weakref.finalize(thing, int)
import openai, spanwise
spanwise.instrument()
client = openai.OpenAI(base_url="{model.url}", api_key="k")
stream = client.chat.completions.create(model="m", messages=[], stream=True)
next(stream)
"""
    run(code, endpoint=collector.url)
    (found,) = [span for span in collector.raw() if span.name == "chat m"]
    assert [pair.value.bool_value for pair in found.attributes if pair.key == semconv.INCOMPLETE] == [True]


def test_our_own_requests_are_not_traced(collector: Collector) -> None:
    code = """
import httpx2, spanwise
spanwise.instrument()
with spanwise.step("s"): pass
"""
    run(code, endpoint=collector.url)
    assert [name for name, _ in collector.spans()] == ["agent.step.s"]
    assert [headers for headers in collector.headers if "traceparent" in headers] == []


def test_an_interrupted_program_still_delivers(collector: Collector) -> None:
    code = f"""
import os, signal, spanwise
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits it as ignored
spanwise.instrument()
with spanwise.step("s"): pass
try:
    os.kill(os.getpid(), {int(signal.SIGINT)})
    signal.pause()
except KeyboardInterrupt:
    pass
"""
    run(code, endpoint=collector.url)
    assert [name for name, _ in collector.spans()] == ["agent.step.s"]


def test_a_name_that_cannot_be_encoded_costs_no_other_span(collector: Collector) -> None:
    code = r"""
import spanwise
spanwise.instrument()
with spanwise.conversation("c\ud83e"):
    for number in range(10):
        with spanwise.step(f"good{number}"): pass
    with spanwise.tool("bad\ud83e"): pass
    with spanwise.step("bad\ud83e"): pass
"""
    finished = run(code, endpoint=collector.url)
    good = [f"agent.step.good{number}" for number in range(10)]
    assert [name for name, _ in collector.spans()] == [*good, "execute_tool bad\ufffd", "agent.step.bad\ufffd"]
    assert finished.stderr == ""


def test_a_span_of_the_program_that_cannot_be_encoded_is_mended_and_the_others_arrive(collector: Collector) -> None:
    """Its name, an event's name, an exception, a status, an attribute of an event."""
    code = r"""
import spanwise
from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode
spanwise.instrument()
with spanwise.step("before"): pass
with trace.get_tracer("u").start_as_current_span("user\ud83e") as span:
    span.add_event("e\ud83e", {"k\ud83e": "v\ud83e"})
    span.record_exception(ValueError("half \ud83e"))
    span.set_status(Status(StatusCode.ERROR, "s\ud83e"))
    span.set_attribute("a", ["\ud83e", "b"])
with spanwise.step("after"): pass
"""
    finished = run(code, endpoint=collector.url)
    before, user, after = collector.raw_by_start()
    assert (before.name, user.name, after.name) == ("agent.step.before", "user\ufffd", "agent.step.after")
    assert [event.name for event in user.events] == ["e\ufffd", "exception"]
    assert [(pair.key, pair.value.string_value) for pair in user.events[0].attributes] == [("k\ufffd", "v\ufffd")]
    assert user.status.message == "s\ufffd"
    values = [list(pair.value.array_value.values) for pair in user.attributes if pair.key == "a"]
    assert [[value.string_value for value in found] for found in values] == [["\ufffd", "b"]]
    assert "lost" not in finished.stderr


class Strict(SpanExporter):
    """Raises what cannot be encoded, as the exporter for gRPC does."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take all or none."""
        encode_spans(spans).SerializeToString()
        self.taken += [span.name for span in spans]
        return SpanExportResult.SUCCESS


def test_only_what_no_cleaning_helps_is_lost_and_the_reason_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A negative time has no bytes at all."""
    provider, strict = TracerProvider(shutdown_on_exit=False), Strict()
    tracer, outlet = provider.get_tracer("t"), Outlet(lambda: strict)
    for name, start_ns in (("good", 1), ("bad\ud83e", 1), ("never", -5), ("last", 1)):
        span = tracer.start_span(name, start_time=start_ns)
        span.end()
        assert isinstance(span, ReadableSpan)
        outlet.put(span)
    with caplog.at_level(logging.WARNING, "spanwise"):
        outlet.close(5)
    assert strict.taken == ["good", "bad\ufffd", "last"]
    assert [record.getMessage() for record in caplog.records if record.name == "spanwise"] == [
        "1 spans were lost: 1 of them could not be encoded"
    ]
