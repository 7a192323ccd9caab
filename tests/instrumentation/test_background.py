"""Work that the program does not wait for is done all the same, once, and before anybody needs it."""

from __future__ import annotations

import os
import threading

import pytest

from spanwise import background

PATIENCE = 10.0  # s


def test_work_is_done_by_another_thread() -> None:
    done = threading.Event()
    threads: list[str] = []

    def work() -> None:
        threads.append(threading.current_thread().name)
        done.set()

    background.begin(work)

    assert done.wait(PATIENCE)
    assert ["spanwise-background"] == threads


def test_who_needs_the_work_has_it_done_even_while_the_thread_is_busy() -> None:
    release = threading.Event()
    background.begin(lambda: release.wait(PATIENCE))
    threads: list[str] = []

    background.begin(lambda: threads.append(threading.current_thread().name)).finish()

    assert [threading.current_thread().name] == threads
    release.set()


def test_work_is_done_once_however_often_it_is_needed() -> None:
    done: list[int] = []
    job = background.begin(lambda: done.append(1))

    for _ in range(3):
        job.finish()

    assert [1] == done


def test_work_that_is_under_way_is_waited_for() -> None:
    begun, release = threading.Event(), threading.Event()
    done: list[int] = []

    def work() -> None:
        begun.set()
        release.wait(PATIENCE)
        done.append(1)

    job = background.begin(work)
    assert begun.wait(PATIENCE)
    threading.Timer(0.01, release.set).start()
    job.finish()

    assert [1] == done


def test_a_fault_in_the_work_reaches_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPANWISE_RAISE")
    after = threading.Event()

    background.begin(lambda: 1 // 0).finish()
    background.begin(after.set)

    assert after.wait(PATIENCE)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_in_the_midst_of_the_work_has_a_thread_of_its_own() -> None:
    background.begin(lambda: None).finish()
    pid = os.fork()
    if pid == 0:
        done = threading.Event()
        background.begin(done.set)
        os._exit(0 if done.wait(PATIENCE) else 1)

    assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
