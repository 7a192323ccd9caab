"""The span of an HTTP request lasts until its answer was read, closed, dropped or broken, and holds nothing secret."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import httpx2
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.instrumentation.collecting import collecting
from tests.instrumentation.receiving import Receiving, run

import spanwise
from spanwise import semconv
from spanwise.addressing import redacted
from spanwise.stages import Stage
from spanwise_analyzer.account import account

HEADERS, BODY = 0.05, 0.4  # s from the request until the headers, and until the last byte
PIECES = 4
LIBRARIES = [httpx, httpx2]


class Handler(BaseHTTPRequestHandler):
    """Headers first, then the body in pieces; the path says how long it takes and whether it breaks."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer."""
        whole = float(self.path.partition("took=")[2].partition("&")[0] or BODY)
        time.sleep(HEADERS)
        self.send_response(302 if "moved" in self.path else 200)
        self.send_header("content-length", str(PIECES if "broken" not in self.path else 2 * PIECES))
        if "moved" in self.path:
            self.send_header("location", "/second")
        self.end_headers()
        with suppress(ConnectionError):
            for _ in range(PIECES):
                time.sleep((whole - HEADERS) / PIECES)
                self.wfile.write(b"x")
                self.wfile.flush()
        self.close_connection = "broken" in self.path

    def log_message(self, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def only(exporter: InMemorySpanExporter) -> ReadableSpan:
    (span,) = exporter.get_finished_spans()
    return span


def seconds(span: ReadableSpan) -> float:
    return ((span.end_time or 0) - (span.start_time or 0)) / 1e9


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


# --- ways to read an answer ---------------------------------------------------------------------------------------
def whole(library: ModuleType, url: str) -> None:
    with library.Client() as client:
        assert client.get(url).content == b"x" * PIECES


def streamed(library: ModuleType, url: str) -> None:
    with library.Client() as client, client.stream("GET", url) as answer:
        assert b"".join(answer.iter_bytes()) == b"x" * PIECES


def read_later(library: ModuleType, url: str) -> None:
    with library.Client() as client:
        answer = client.send(client.build_request("GET", url), stream=True)
        assert answer.read() == b"x" * PIECES


def in_another_thread(library: ModuleType, url: str) -> None:
    with library.Client() as client:
        answer = client.send(client.build_request("GET", url), stream=True)
        thread = threading.Thread(target=answer.read)
        thread.start()
        thread.join()


async def whole_later(library: ModuleType, url: str) -> None:
    async with library.AsyncClient() as client:
        assert (await client.get(url)).content == b"x" * PIECES


async def streamed_later(library: ModuleType, url: str) -> None:
    async with library.AsyncClient() as client, client.stream("GET", url) as answer:
        assert b"".join([part async for part in answer.aiter_bytes()]) == b"x" * PIECES


async def in_another_task(library: ModuleType, url: str) -> None:
    async with library.AsyncClient() as client:
        answer = await client.send(client.build_request("GET", url), stream=True)
        assert await asyncio.create_task(answer.aread()) == b"x" * PIECES


SYNC: list[Callable[[ModuleType, str], None]] = [whole, streamed, read_later, in_another_thread]
ASYNC: list[Callable[[ModuleType, str], Awaitable[None]]] = [whole_later, streamed_later, in_another_task]


def check_whole(exporter: InMemorySpanExporter, began: float, before: trace.Span) -> None:
    took = time.perf_counter() - began
    span = only(exporter)
    assert BODY - 0.01 <= seconds(span) <= took
    assert HEADERS - 0.01 <= attributes(span)[semconv.HTTP_HEADERS_TIME] < BODY
    assert attributes(span)[semconv.CONNECTION_NEW] is True
    assert span.status.status_code is StatusCode.UNSET
    assert not {semconv.INCOMPLETE, semconv.CANCELLED, semconv.ERROR_TYPE} & set(attributes(span))
    assert trace.get_current_span() is before


@pytest.mark.parametrize("read", SYNC)
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_span_lasts_until_the_last_byte(
    exporter: InMemorySpanExporter, url: str, library: ModuleType, read: Callable[[ModuleType, str], None]
) -> None:
    began, before = time.perf_counter(), trace.get_current_span()
    read(library, url)
    check_whole(exporter, began, before)


@pytest.mark.parametrize("read", ASYNC)
@pytest.mark.parametrize("library", LIBRARIES)
async def test_the_span_lasts_until_the_last_byte_in_a_task(
    exporter: InMemorySpanExporter, url: str, library: ModuleType, read: Callable[[ModuleType, str], Awaitable[None]]
) -> None:
    began, before = time.perf_counter(), trace.get_current_span()
    await read(library, url)
    check_whole(exporter, began, before)


# --- ways not to read it to its end -------------------------------------------------------------------------------
@pytest.mark.parametrize("library", LIBRARIES)
def test_an_answer_closed_early_ends_its_span_then_and_is_no_failure(
    exporter: InMemorySpanExporter, url: str, library: ModuleType
) -> None:
    with library.Client() as client, client.stream("GET", url) as answer:
        next(answer.iter_raw())
    assert seconds(only(exporter)) < BODY - 0.1
    assert only(exporter).status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_answer_that_is_never_read_ends_its_span_when_it_is_closed(
    exporter: InMemorySpanExporter, url: str, library: ModuleType
) -> None:
    with library.Client() as client:
        answer = client.send(client.build_request("GET", url), stream=True)
        assert exporter.get_finished_spans() == ()
        answer.close()
        assert seconds(only(exporter)) < BODY


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_answer_that_is_dropped_ended_when_something_last_came(
    exporter: InMemorySpanExporter, url: str, library: ModuleType
) -> None:
    with library.Client() as client:
        answer = client.send(client.build_request("GET", url), stream=True)
        time.sleep(0.2)
        del answer
        gc.collect()
        span = only(exporter)
    assert attributes(span)[semconv.INCOMPLETE] is True
    assert seconds(span) < 0.15


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_answer_that_breaks_is_an_error_without_its_text(
    exporter: InMemorySpanExporter, url: str, library: ModuleType
) -> None:
    with library.Client() as client, pytest.raises(library.RemoteProtocolError):
        client.get(f"{url}/broken")
    span = only(exporter)
    assert (span.status.status_code, span.events) == (StatusCode.ERROR, ())
    assert attributes(span)[semconv.ERROR_TYPE].endswith("RemoteProtocolError")
    assert seconds(span) >= BODY - 0.01


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_refused_connection_is_an_error_without_its_text(exporter: InMemorySpanExporter, library: ModuleType) -> None:
    with library.Client() as client, pytest.raises(library.ConnectError):
        client.get("http://127.0.0.1:9/?key=secret")
    span = only(exporter)
    assert (span.status.status_code, span.events) == (StatusCode.ERROR, ())
    assert attributes(span)[semconv.ERROR_TYPE].endswith("ConnectError")
    assert "secret" not in span.to_json()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("after", [0.01, 0.2], ids=["before the headers", "in the body"])
async def test_a_cancelled_request_is_marked_so_and_is_no_failure(
    exporter: InMemorySpanExporter, url: str, library: ModuleType, after: float
) -> None:
    async with library.AsyncClient() as client:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.get(url), after)
    span = only(exporter)
    assert attributes(span)[semconv.CANCELLED] is True
    assert (span.status.status_code, span.events) == (StatusCode.UNSET, ())
    assert after - 0.02 <= seconds(span) < after + 0.1


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_request_of_a_redirect_has_its_own_body_and_connection(
    exporter: InMemorySpanExporter, url: str, library: ModuleType
) -> None:
    with library.Client(follow_redirects=True) as client:
        client.get(f"{url}/moved")
    first, second = exporter.get_finished_spans()
    assert [attributes(span)[semconv.CONNECTION_NEW] for span in (first, second)] == [True, False]
    assert (first.end_time or 0) <= (second.start_time or 0)
    assert min(seconds(first), seconds(second)) >= BODY - 0.01


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_body_whose_reading_outlives_the_instrumentation_still_ends_its_span(
    exporter: InMemorySpanExporter, url: str, library: ModuleType
) -> None:
    with library.Client() as client, client.stream("GET", url) as answer:
        spanwise.uninstrument()
        answer.read()
    assert seconds(only(exporter)) >= BODY - 0.01


def test_many_requests_leave_nothing_behind(exporter: InMemorySpanExporter, url: str) -> None:
    from spanwise import exchange, unfinished

    with httpx2.Client() as client:
        for _ in range(5):
            client.get(f"{url}/?took=0.06")
    assert len(exporter.get_finished_spans()) == 5
    assert (exchange._open, list(unfinished._open)) == (set(), [])


@pytest.mark.parametrize("variable", ["OTEL_PYTHON_HTTPX_EXCLUDED_URLS", "OTEL_PYTHON_EXCLUDED_URLS"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_an_excluded_address_is_left_alone(
    provider: TracerProvider, url: str, library: ModuleType, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "health,/private/.*")
    memory = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    with switched_on(provider), library.Client() as client:
        for path in ("health", "private/x", "seen"):
            client.get(f"{url}/{path}?took=0.06")
    assert attributes(only(memory))[semconv.URL_FULL] == f"{url}/seen?took=REDACTED"


# --- what the analyzer makes of it --------------------------------------------------------------------------------
def test_no_part_of_reading_a_body_is_time_of_the_agent(url: str, tmp_path: Path) -> None:
    """Headers at 50 ms, the last byte at 1.5 s, and no model call around."""
    provider = TracerProvider(shutdown_on_exit=False)
    spanwise.uninstrument()
    with collecting(tmp_path) as collected:
        spanwise.instrument(endpoint=collected.bound.http, tracer_provider=provider)
        with spanwise.conversation("c-1"), spanwise.turn(agent="shop"), httpx2.Client() as client:
            client.get(f"{url}/?took=1.5")
        spanwise.uninstrument()
        ledger = account("c-1", collected.spans("c-1"))
    provider.shutdown()
    stages = {row.stage: row.ns for row in ledger.stages}
    assert stages.pop(Stage.AGENT_OVERHEAD, 0) < 0.5e9
    assert sum(stages.values()) >= 1.49e9
    assert {row.stage for row in ledger.segments if row.span is not None and row.span.name == "GET"} == set(stages)


# --- nothing secret -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.example.org/v1/chat", "https://api.example.org/v1/chat"),
        ("https://u:p@h.example.org:8443/a/b", "https://h.example.org:8443/a/b"),
        ("https://h/a?key=secret&v=1&flag", "https://h/a?key=REDACTED&v=REDACTED&flag"),
        ("https://h/a?secret", "https://h/a?REDACTED"),
        ("https://h/a?a=secret;b=secret", "https://h/a?a=REDACTED;b=REDACTED"),
        ("https://h/a?a=secret=more==#secret", "https://h/a?a=REDACTED"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("http://[broken", "REDACTED"),
        ("/v1/x?key=secret", "/v1/x?key=REDACTED"),
        ("", ""),
    ],
)
def test_an_address_keeps_its_path_and_no_value(url: str, expected: str) -> None:
    assert redacted(url) == expected


@contextmanager
def switched_on(provider: TracerProvider) -> Iterator[None]:
    spanwise.uninstrument()
    spanwise.instrument(tracer_provider=provider)
    yield
    spanwise.uninstrument()


@pytest.mark.parametrize("names", ["", "http", "http/dup", "default"])
def test_no_attribute_of_a_request_holds_a_secret(url: str, names: str) -> None:
    """Whichever names the program chose: a process has one choice, so each is made in one of its own."""
    secret = url.replace("//", "//user:s3cret@") + "/path/?token=s3cret&took=0.06#s3cret"
    code = f"""
        import httpx2, spanwise
        spanwise.instrument("shop")
        with httpx2.Client() as client:
            client.get("{secret}")
    """
    with Receiving().serving() as receiving:
        run(code, endpoint=receiving.url, OTEL_SEMCONV_STABILITY_OPT_IN=names)
        (span,) = receiving.spans
    assert "s3cret" not in str(span)
    addresses = [value for name, value in span.attributes.items() if name in ("url.full", "http.url")]
    assert addresses == [f"{url}/path/?token=REDACTED&took=REDACTED"] * (2 if names == "http/dup" else 1)
