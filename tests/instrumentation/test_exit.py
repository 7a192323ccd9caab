"""The end of a program: soon, whatever is at the other end, with what was open sent and what was lost told once."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from tests.instrumentation.receiving import NOBODY, Receiving, run

from spanwise import semconv

# The time from the last line of the program until the interpreter is gone, as the shell sees it, is what counts;
# it is taken from inside by a clock that all processes of a machine share.
PROGRAM = """
    import time, spanwise
    spanwise.instrument("shop")
    for _ in range({number}):
        with spanwise.step("s"): pass
    {before}
    print(time.monotonic(), flush=True)
"""


@pytest.fixture
def receiving() -> Iterator[Receiving]:
    with Receiving().serving() as made:
        yield made


@contextmanager
def black_hole() -> Iterator[str]:
    """Takes every connection and never says anything."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def nobody() -> Iterator[str]:
    """Refuses every connection."""
    yield NOBODY


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize(("away", "limit"), [(nobody, 0.5), (black_hole, 2.0)])
@pytest.mark.parametrize("before", ["", "time.sleep(1.3)"], ids=["at once", "after a while"])
def test_the_end_waits_for_nobody_and_tells_once_what_was_lost(
    protocol: str, away: Callable[[], AbstractContextManager[str]], limit: float, before: str
) -> None:
    """A refused connection is given up at once, a silent one within the limit."""
    with away() as url:
        code = PROGRAM.format(number=3, before=before)
        done = run(code, endpoint=url, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)
        took = time.monotonic() - float(done.stdout)
    assert took < limit
    lost = [line for line in done.stderr.splitlines() if "lost" in line]
    assert ["3 spans were lost: the collector could not be reached, or did not take them"] == lost


def test_a_collector_that_starts_late_gets_everything(receiving: Receiving) -> None:
    """Also when it starts after the first tries: as long as nobody listens nothing is given up."""
    code = """
        import socket, subprocess, sys, threading, time, spanwise
        from http.server import ThreadingHTTPServer
        from tests.instrumentation.receiving import Receiving
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        spanwise.instrument("shop", f"http://127.0.0.1:{port}")
        for _ in range(700):
            with spanwise.step("early"): pass
        time.sleep(1.5)
        late = Receiving()
        with late.serving(port):
            spanwise.uninstrument()
        print(late.names().count("early"), len(late.names()))
    """
    done = run(code, endpoint=None, PYTHONPATH=".", OTEL_BSP_SCHEDULE_DELAY="50")
    assert ("0 700\n", "") == (done.stdout, done.stderr)


def test_a_flush_without_a_collector_answers_at_once_and_says_no() -> None:
    code = """
        import time, spanwise
        from opentelemetry import trace
        spanwise.instrument("shop")
        began = time.monotonic()
        for _ in range(10):
            with spanwise.step("s"): pass
            assert not trace.get_tracer_provider().force_flush()
        print(time.monotonic() - began)
    """
    assert float(run(code, endpoint=NOBODY).stdout) < 0.5


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize("away", [nobody, black_hole])
def test_all_that_is_done_beside_the_program_takes_less_than_a_hundredth_of_its_time(
    protocol: str, away: Callable[[], AbstractContextManager[str]]
) -> None:
    """Processor time of all threads but the program's own, while the agent waits for its model."""
    code = """
        import time, spanwise
        spanwise.instrument("shop")
        def work(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                with spanwise.conversation("c-1"), spanwise.turn(), spanwise.step("s"): time.sleep(0.02)
        work(1.5)  # with the first connection, and what is loaded for it
        began, others = time.monotonic(), time.process_time() - time.thread_time()
        work(2)
        print((time.process_time() - time.thread_time() - others) / (time.monotonic() - began))
    """
    with away() as url:
        share = float(run(code, endpoint=url, OTEL_EXPORTER_OTLP_PROTOCOL=protocol).stdout)
    assert 0 <= share < 0.01


OPEN = """
    import asyncio, threading, spanwise
    from spanwise import semconv
    spanwise.instrument("shop")
    {open}
"""
UNFINISHED = {
    "entered": "mark = spanwise.{kind}; mark.__enter__()",
    "in a daemon thread": """
    def work(ready=threading.Event()):
        with spanwise.{kind}:
            ready.set()
            threading.Event().wait()
    ready = threading.Event()
    threading.Thread(target=work, args=(ready,), daemon=True).start()
    ready.wait()
    """,
    "in a task": """
    async def work():
        with spanwise.{kind}:
            await asyncio.Event().wait()
    loop = asyncio.new_event_loop()
    task = loop.create_task(work())
    loop.run_until_complete(asyncio.sleep(0.01))
    """,
}
KINDS = ('turn(agent="shop")', 'step("s", x=1)', 'stage("prepare")', 'tool("t")')


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("open_in", UNFINISHED)
def test_what_is_still_open_is_sent_as_incomplete(receiving: Receiving, open_in: str, kind: str) -> None:
    done = run(OPEN.format(open=UNFINISHED[open_in].format(kind=kind)), endpoint=receiving.url)
    (span,) = receiving.spans
    assert span.attributes[semconv.INCOMPLETE] is True
    assert semconv.STEP_OUTPUT_STATUS not in span.attributes  # nobody knows how it would have ended
    assert not re.findall("ended span|Traceback", done.stderr)


def test_a_hundred_thousand_spans_for_nobody_take_no_more_room_than_the_queue() -> None:
    code = """
        import gc, spanwise
        spanwise.instrument("shop")
        def work(number):
            for _ in range(number):
                with spanwise.step("s"): pass
            gc.collect()
            return len(gc.get_objects())
        before = work(5_000)
        print(work(100_000) - before)
    """
    done = run(code, endpoint=NOBODY)
    assert int(done.stdout) < 1_000
    assert "105000 spans were lost" in done.stderr
    assert 1 == done.stderr.count("lost")
