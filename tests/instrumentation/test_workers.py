"""Worker processes deliver what they have before they end, in whichever way ``multiprocessing`` makes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.instrumentation.collecting import collecting
from tests.instrumentation.receiving import Receiving, run

from spanwise import semconv

METHODS = ["fork", "spawn", "forkserver"]
LATER = "60000"  # ms: nothing is sent before the process ends
# A file, since a worker that is not forked imports what it is to do.
WORK = """
import os
import spanwise
{before}
kept = []

def work():
    {inside}
    with spanwise.step("work"): pass

def leave_open():
    work()
    kept.append(spanwise.step("open"))
    kept[0].__enter__()

def fail():
    work()
    raise ValueError("theirs")

def get_pid():
    work()
    return os.getpid()
"""
ON_IMPORT = WORK.format(before='spanwise.instrument("shop")', inside="pass")
IN_WORKER = WORK.format(before="", inside='spanwise.instrument("shop")')


@pytest.fixture
def receiving() -> Iterator[Receiving]:
    with Receiving().serving() as made:
        yield made


def play(receiving: Receiving, folder: Path, program: str, code: str) -> str:
    (folder / "working.py").write_text(program)
    done = run(code, endpoint=receiving.url, PYTHONPATH=str(folder), OTEL_BSP_SCHEDULE_DELAY=LATER)
    strange = [line for line in done.stderr.splitlines() if re.search("lost|spanwise/", line)]
    assert strange == []
    return done.stdout


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("program", [ON_IMPORT, IN_WORKER], ids=["on import", "in the worker"])
@pytest.mark.parametrize("target", ["work", "leave_open", "fail"])
def test_a_process_that_runs_one_function(
    receiving: Receiving, tmp_path: Path, method: str, program: str, target: str
) -> None:
    code = f"""
        import multiprocessing, working
        process = multiprocessing.get_context("{method}").Process(target=working.{target})
        process.start()
        process.join()
        print(process.pid, process.exitcode)
    """
    pid, status = map(int, play(receiving, tmp_path, program, code).split())
    names = ["agent.step.open", "agent.step.work"] if target == "leave_open" else ["agent.step.work"]
    assert (names, target == "fail") == (receiving.names(), bool(status))
    assert {pid} == {span.resource[semconv.PROCESS_PID] for span in receiving.spans}
    marks = [span.attributes.get(semconv.INCOMPLETE) for span in receiving.spans if span.name == "agent.step.open"]
    assert [True] * len(marks) == marks


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_of_processes(receiving: Receiving, tmp_path: Path, method: str) -> None:
    code = f"""
        import multiprocessing, working
        pool = multiprocessing.get_context("{method}").Pool(2)
        print(*{{pool.apply(working.get_pid) for _ in range(4)}})
        pool.close()
        pool.join()
    """
    pids = {int(pid) for pid in play(receiving, tmp_path, ON_IMPORT, code).split()}
    assert ["agent.step.work"] * 4 == receiving.names()
    assert pids == {span.resource[semconv.PROCESS_PID] for span in receiving.spans}


@pytest.mark.parametrize("method", METHODS)
def test_a_process_that_is_started_by_a_process(receiving: Receiving, tmp_path: Path, method: str) -> None:
    nested = f"""
def nest():
    import multiprocessing
    work()
    process = multiprocessing.get_context("{method}").Process(target=work)
    process.start()
    process.join()
"""
    code = f"""
        import multiprocessing, working
        process = multiprocessing.get_context("{method}").Process(target=working.nest)
        process.start()
        process.join()
    """
    play(receiving, tmp_path, ON_IMPORT + nested, code)
    assert ["agent.step.work"] * 2 == receiving.names()
    assert 2 == len({span.resource[semconv.SERVICE_INSTANCE_ID] for span in receiving.spans})


@pytest.mark.parametrize("end", ["raise SystemExit", "trace.get_tracer_provider().force_flush(); os._exit(0)"])
@pytest.mark.parametrize("sent", [False, True], ids=["before anything was sent", "after something was sent"])
def test_a_child_of_fork_has_a_connection_of_its_own_over_grpc(tmp_path: Path, end: str, *, sent: bool) -> None:
    code = f"""
        import os, spanwise
        from opentelemetry import trace
        spanwise.instrument("shop")
        with spanwise.conversation("c-1"):
            with spanwise.step("first"): pass
            if {sent}: trace.get_tracer_provider().force_flush()
            child = os.fork()
            if child == 0:
                with spanwise.step("child"): pass
                {end}
            os.waitpid(child, 0)
            with spanwise.step("last"): pass
    """
    with collecting(tmp_path) as collected:
        url, variables = f"http://{collected.bound.grpc}", {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
        variables["PYTHONWARNINGS"] = "ignore::DeprecationWarning"  # of a fork beside the threads of gRPC
        assert "lost" not in run(code, endpoint=url, OTEL_BSP_SCHEDULE_DELAY=LATER, **variables).stderr
        names = sorted(span.name for span in collected.spans("c-1"))
    assert ["agent.step.child", "agent.step.first", "agent.step.last"] == names
