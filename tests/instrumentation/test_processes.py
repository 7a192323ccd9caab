"""Worker processes and processes that the program starts join the conversation that they work for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.instrumentation.receiving import Receiving, run

from spanwise import semconv

# A file, since a worker that is spawned imports what it is to do.
WORK = """
import os
import spanwise
spanwise.instrument("shop")

def work(number):
    with spanwise.step(f"work{number}"): pass
    return os.getpid()

def broken():
    raise ValueError("theirs")
"""


@pytest.fixture
def receiving() -> Iterator[Receiving]:
    with Receiving().serving() as made:
        yield made


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_workers_of_a_pool_join_the_turn(receiving: Receiving, tmp_path: Path, method: str) -> None:
    (tmp_path / "working.py").write_text(WORK)
    code = f"""
        import multiprocessing, os, spanwise, working
        from concurrent.futures import ProcessPoolExecutor
        context = multiprocessing.get_context("{method}")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            with spanwise.conversation("c-1"), spanwise.turn(3, agent="shop"):
                print(pool.submit(working.work, 1).result(), *pool.map(working.work, [2]))
            pool.submit(working.work, 3).result()
            assert "theirs" == str(pool.submit(working.broken).exception())
    """
    first, second = run(code, endpoint=receiving.url, PYTHONPATH=str(tmp_path)).stdout.split()
    one, two, three, turn = sorted(receiving.spans, key=lambda span: span.name)
    assert [f"agent.step.work{number}" for number in (1, 2, 3)] == [one.name, two.name, three.name]
    for span, pid in ((one, first), (two, second)):
        assert (turn.trace_id, turn.span_id) == (span.trace_id, span.parent_id)
        assert ("c-1", 3) == (span.attributes[semconv.GEN_AI_CONVERSATION_ID], span.attributes[semconv.TURN])
        assert int(pid) == span.resource[semconv.PROCESS_PID]
    assert ("", False) == (three.parent_id, semconv.GEN_AI_CONVERSATION_ID in three.attributes)


CHILD = 'import spanwise; spanwise.instrument("tool")\nwith spanwise.step("child"): pass'


def test_a_program_that_is_started_with_our_variables_joins_the_turn(receiving: Receiving) -> None:
    """Also where the endpoint was an argument: it sends to the same place."""
    code = f"""
        import os, subprocess, sys, spanwise
        spanwise.instrument("shop", {receiving.url!r})
        with spanwise.conversation("c-1"), spanwise.turn(3, agent="shop"):
            subprocess.run([sys.executable, "-c", {CHILD!r}], env=os.environ | spanwise.environment(), check=True)
    """
    run(code, endpoint=None)
    step, turn = sorted(receiving.spans, key=lambda span: span.name)
    assert (turn.trace_id, turn.span_id) == (step.trace_id, step.parent_id)
    assert ("c-1", 3) == (step.attributes[semconv.GEN_AI_CONVERSATION_ID], step.attributes[semconv.TURN])
    assert ("tool", "shop") == (step.resource["service.name"], turn.resource["service.name"])


def test_a_program_that_is_started_without_them_is_on_its_own(receiving: Receiving) -> None:
    code = f"""
        import subprocess, sys, spanwise
        spanwise.instrument("shop")
        with spanwise.conversation("c-1"), spanwise.turn(agent="shop"):
            subprocess.run([sys.executable, "-c", {CHILD!r}], check=True)
    """
    run(code, endpoint=receiving.url)
    step, turn = sorted(receiving.spans, key=lambda span: span.name)
    assert turn.trace_id != step.trace_id
    assert ("", False) == (step.parent_id, semconv.GEN_AI_CONVERSATION_ID in step.attributes)
