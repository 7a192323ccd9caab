"""Work that the program need not wait for: one thread does it while the program waits for something else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

from spanwise.safety import shield


class Job:
    """A piece of work that is done once, by our thread or by whoever cannot go on without it."""

    __slots__ = ("_lock", "_work")

    def __init__(self, work: Callable[[], object]) -> None:
        self._work: Callable[[], object] | None = work
        # Reentrant: a garbage collection in the midst of the work may come here again, on the same thread.
        self._lock = threading.RLock()

    def finish(self) -> None:
        """See to it that the work is done: waits for our thread if it is at it, else does it here."""
        with self._lock:
            work, self._work = self._work, None
            if work is not None:
                with shield():
                    work()


class _Worker:
    """The thread, and the jobs that wait for it."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Job] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self.idle = threading.Lock()  # held while a job runs: a fork in the midst of one would leave it locked

    def take(self, job: Job) -> None:
        if self._thread is None:
            self._thread = self._started()
        if self._thread is not None:  # else whoever needs the job does it
            self._queue.put(job)

    def _started(self) -> threading.Thread | None:
        thread = threading.Thread(target=self._run, name="spanwise-background", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads are to be had, or the interpreter ends
            return None
        return thread

    def _run(self) -> None:
        while True:
            job = self._queue.get()
            with self.idle:
                job.finish()
            del job  # nothing is held while there is nothing to do


_worker = _Worker()


def begin(work: Callable[[], object]) -> Job:
    """Have ``work`` done soon; it must not need the context of its caller, nor anything that the program may change."""
    job = Job(work)
    _worker.take(job)
    return job


def _pause() -> None:
    _worker.idle.acquire()


def _resume() -> None:
    _worker.idle.release()


def _renew() -> None:
    global _worker  # noqa: PLW0603 - one process has one thread for this, and a fork has none
    _worker = _Worker()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_pause, after_in_parent=_resume, after_in_child=_renew)
