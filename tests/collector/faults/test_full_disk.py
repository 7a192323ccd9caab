"""No room for what is to be written: a small file system, and a limit on the size of files."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.collector.faults.load import loading
from tests.collector.faults.served import Served, held, serving, until

_PAYLOAD = "p" * 4000  # fills 8 MB with 40 requests
_SMALL = 8 * 2**20
_REFUSALS = 12


@pytest.mark.soak
def test_on_a_full_disk_requests_are_refused_for_now_and_arrive_when_there_is_room(tmp_path: Path) -> None:
    def make_room(_: Served) -> None:
        subprocess.run(["mount", "-o", "remount,size=1g", str(tmp_path)], check=True)

    with _small_disk(tmp_path), serving(tmp_path / "spans.db") as server:
        _fill_and_make_room(server, tmp_path / "spans.db", make_room, why="No space left")


def test_over_the_limit_of_a_file_requests_are_refused_for_now_and_arrive_when_there_is_room(tmp_path: Path) -> None:
    def make_room(server: Served) -> None:
        _limit(server, resource.RLIM_INFINITY)

    with serving(tmp_path / "spans.db") as server:
        _limit(server, _SMALL)
        _fill_and_make_room(server, tmp_path / "spans.db", make_room, why="File too large")


def _fill_and_make_room(server: Served, db: Path, make_room: Callable[[Served], None], *, why: str) -> None:
    with loading(server, payload=_PAYLOAD) as load:
        load.refused(_REFUSALS)
        until(lambda: why in str(server.readiness()), "says why it is not ready")
        assert server.get("/healthz")[0] == 200
        refused = load.sent - load.acknowledged
        make_room(server)
        until(lambda: refused <= load.acknowledged, "what was refused arrives")
        until(lambda: server.readiness()[0] == 200, "ready again")
        load.more()
        load.stop()
    listed = json.loads(server.get("/api/v1/conversations?limit=1000")[1])["conversations"]
    assert {f"c-{number}" for number in load.acknowledged} <= {row["conversation_id"] for row in listed}
    assert any(why in reason for reason in load.refusals)
    assert server.end() == 0
    assert 0 < server.said.count("a request could not be stored") < load.refusals.total() / 2
    assert load.counts(held(db)).missing == 0


def _limit(server: Served, size: int) -> None:
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SMALL}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode:
        pytest.skip("no small file system can be mounted here; it takes root")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
