"""Every third flush to the disk takes longer than a sender may wait."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.collector.faults.load import loading
from tests.collector.faults.served import held, serving

_FLUSH_MS = 600
_EVERY = 3  # of each thread
_WAIT_S = 0.3
_SLACK_S = 1.0  # for two busy processors; a sender would wait for 5 s and more without the limit


@pytest.mark.soak
def test_on_a_slow_disk_nobody_waits_longer_than_said_and_nothing_acknowledged_is_missing(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    db = tmp_path / "spans.db"
    flushes = "fsync,fdatasync"
    slow = [program("strace"), "-D", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", f"trace={flushes}"]
    slow += ["-e", f"inject={flushes}:delay_enter={_FLUSH_MS * 1000}:when={_EVERY}+{_EVERY}"]
    with serving(db, alone=True, wrap=slow, SPANWISE_COMMIT_WAIT_S=str(_WAIT_S)) as server, loading(server) as load:
        load.more(30)
        load.stop()
        server.kill()
    counts = load.counts(held(db))
    sys.stdout.write(f"longest wait: {max(load.waits_s):.2f} s\n")
    assert counts.missing == 0
    assert "not committed in time; it may still be" in load.refusals
    assert max(load.waits_s) < _WAIT_S + _SLACK_S
