"""No room for what is to be written: a small file system, and a limit on the size of files."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.collector.faults.load import loading
from tests.collector.faults.served import Served, held, serving, until

Room: TypeAlias = Callable[[Served], object]
_PAYLOAD = "p" * 4000  # fills 8 MB with 40 requests
_SMALL = 8 * 2**20


@contextmanager
def small_disk() -> Iterator[tuple[Path, Room]]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SMALL}", "tmpfs", folder], check=False).returncode:
            pytest.skip("no file system can be mounted here")
        try:
            yield (
                Path(folder),
                lambda _: subprocess.run(["mount", "-o", "remount,size=1g", folder], check=True) and None,
            )
        finally:
            subprocess.run(["umount", folder], check=True)


@contextmanager
def small_files() -> Iterator[tuple[Path, Room]]:
    def grow(server: Served) -> None:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder), grow


@pytest.mark.parametrize(("disk", "why"), [(small_disk, "No space left"), (small_files, "File too large")])
def test_without_room_requests_are_refused_for_now_and_arrive_when_there_is_room(
    disk: Callable[[], AbstractContextManager[tuple[Path, Room]]], why: str
) -> None:
    with disk() as (folder, make_room):
        db = folder / "spans.db"
        with serving(db) as server:
            if disk is small_files:
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (_SMALL, resource.RLIM_INFINITY))
            with loading(server, payload=_PAYLOAD) as load:
                load.refused()
                until(lambda: server.readiness()[0] == 503, "not ready")
                status, checks = server.readiness()
                assert (status, why in checks["store"]) == (503, True)
                assert server.get("/healthz")[0] == 200
                refused = set(load.sent - load.acknowledged)
                make_room(server)
                load.more()
                until(lambda: refused <= load.acknowledged, "what was refused arrives")
                assert server.readiness()[0] == 200
            assert any(why in reason for reason in load.refusals)
            assert server.end() == 0
        assert server.said.count("a request could not be stored") == 1
        counts = load.counts(held(db))
    assert counts.missing == 0
    assert load.refusals.total() > 0
