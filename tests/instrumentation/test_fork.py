"""Processes made by fork: each sends its own spans, once, and under its own process id."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.instrumentation.receiving import PATIENCE, Receiving, environ, run

from spanwise import semconv

LATER = "60000"  # ms: nothing is sent by itself before the fork
# What the child is called by, and how it ends.
ENDS = {
    "normally": "raise SystemExit",
    "by os._exit after a flush": "trace.get_tracer_provider().force_flush(); os._exit(0)",
}


@pytest.fixture
def receiving() -> Iterator[Receiving]:
    with Receiving().serving() as made:
        yield made


def pids(receiving: Receiving) -> list[tuple[str, int]]:
    return sorted((span.name, span.resource[semconv.PROCESS_PID]) for span in receiving.spans)


@pytest.mark.parametrize("end", ENDS.values(), ids=list(ENDS))
def test_a_pending_span_comes_once_from_the_parent_and_the_childs_from_the_child(
    receiving: Receiving, end: str
) -> None:
    code = f"""
        import os, spanwise
        from opentelemetry import trace
        spanwise.instrument("shop")
        with spanwise.step("pending"): pass
        child = os.fork()
        if child == 0:
            with spanwise.step("child"): pass
            {end}
        os.waitpid(child, 0)
        print(os.getpid(), child)
    """
    done = run(code, endpoint=receiving.url, OTEL_BSP_SCHEDULE_DELAY=LATER)
    parent, child = map(int, done.stdout.split())
    assert "" == done.stderr
    assert [("agent.step.child", child), ("agent.step.pending", parent)] == pids(receiving)
    assert 2 == len({span.resource[semconv.SERVICE_INSTANCE_ID] for span in receiving.spans})


def test_a_grandchild_is_told_from_the_child(receiving: Receiving) -> None:
    """Also where the child has sent before it forked."""
    code = """
        import os, spanwise
        from opentelemetry import trace
        spanwise.instrument("shop")
        child = os.fork()
        if child == 0:
            with spanwise.step("child"): pass
            trace.get_tracer_provider().force_flush()
            grandchild = os.fork()
            if grandchild == 0:
                with spanwise.step("grandchild"): pass
                raise SystemExit
            os.waitpid(grandchild, 0)
            print(os.getpid(), grandchild, flush=True)
            raise SystemExit
        os.waitpid(child, 0)
    """
    child, grandchild = map(int, run(code, endpoint=receiving.url).stdout.split())
    assert [("agent.step.child", child), ("agent.step.grandchild", grandchild)] == pids(receiving)


def test_a_turn_that_is_open_at_the_fork_ends_once_and_the_child_is_inside_of_it(receiving: Receiving) -> None:
    code = """
        import os, spanwise
        spanwise.instrument("shop")
        with spanwise.conversation("c-1"), spanwise.turn(agent="shop"):
            child = os.fork()
            if child == 0:
                with spanwise.step("child"): pass
            else:
                os.waitpid(child, 0)
        print(child, flush=True)
    """
    run(code, endpoint=receiving.url)
    step, turn = sorted(receiving.spans, key=lambda span: span.name)
    assert ("agent.step.child", "invoke_agent shop") == (step.name, turn.name)
    assert (turn.span_id, turn.trace_id) == (step.parent_id, step.trace_id)
    assert "c-1" == step.attributes[semconv.GEN_AI_CONVERSATION_ID]


def test_a_fork_in_the_midst_of_busy_threads_never_hangs(receiving: Receiving) -> None:
    """Whatever lock another thread holds at that moment, the child does not wait for it."""
    code = """
        import os, threading, time, spanwise
        spanwise.instrument("shop")
        over = threading.Event()
        def busy():
            while not over.is_set():
                with spanwise.conversation("c-1"), spanwise.turn(), spanwise.step("busy", x=[1] * 50): pass
                time.sleep(0.001)
        threads = [threading.Thread(target=busy, daemon=True) for _ in range(3)]
        for thread in threads: thread.start()
        children = []
        for _ in range(10):
            child = os.fork()
            if child == 0:
                with spanwise.conversation("c-2"), spanwise.turn(), spanwise.step("child", x=[1] * 50): pass
                raise SystemExit
            children.append(child)
        print(sum(os.waitpid(child, 0)[1] for child in children))
        over.set()
    """
    assert "0\n" == run(code, endpoint=receiving.url, OTEL_BSP_SCHEDULE_DELAY="20").stdout
    assert 10 == receiving.names().count("agent.step.child")


APPLICATION = """
    import os
    import spanwise
    spanwise.instrument("shop")
    with spanwise.step("loaded"): pass

    def app(environ, start_response):
        with spanwise.conversation("c-1"), spanwise.turn(agent="shop"): pass
        start_response("200 OK", [])
        return [str(os.getpid()).encode()]
"""


def test_preloaded_workers_send_under_their_own_process_ids(
    program: Callable[[str], str], receiving: Receiving, tmp_path: Path
) -> None:
    program_path = Path(sys.executable).with_name("gunicorn")
    gunicorn = str(program_path) if program_path.exists() else program("gunicorn")
    (tmp_path / "web.py").write_text(textwrap.dedent(APPLICATION))
    command = [gunicorn, "--preload", "--workers", "2", "--bind", "127.0.0.1:0", "--no-control-socket", "web:app"]
    chosen = environ(receiving.url, OTEL_BSP_SCHEDULE_DELAY=LATER)
    with subprocess.Popen(command, cwd=tmp_path, env=chosen, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        line = next(line for line in running.stderr if "Listening at" in line)
        workers = asked(line.split("Listening at: ")[1].split(" ")[0])
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=PATIENCE)
    found = dict.fromkeys(pids(receiving))
    assert {("agent.step.loaded", running.pid), *(("invoke_agent shop", worker) for worker in workers)} == set(found)
    assert 1 == receiving.names().count("agent.step.loaded")


def asked(url: str) -> set[int]:
    """Ask until both workers have answered; who they are."""
    seen: set[int] = set()
    deadline = time.monotonic() + PATIENCE
    while len(seen) < 2 and time.monotonic() < deadline:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - the server started above
            seen.add(int(answer.read()))
    assert os.getpid() not in seen
    return seen
