"""The process ends without warning, again and again, while it is sent spans."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.collector.faults.load import Counts, loading
from tests.collector.faults.served import begin, held

_MINUTES = float(os.environ.get("SPANWISE_SOAK_MINUTES", "4"))


def test_three_kills_under_load_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    kills, counts = _killed(tmp_path / "spans.db", alone=True, kills=3)
    assert (kills, counts.missing) == (3, 0)
    assert counts.acknowledged > 0


@pytest.mark.soak
def test_kills_for_minutes_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    kills, counts = _killed(tmp_path / "spans.db", alone=False, until_s=time.monotonic() + _MINUTES * 60)
    sys.stdout.write(f"kills: {kills}\n")
    assert kills > 3
    assert counts.missing == 0


def _killed(db: Path, *, alone: bool, kills: int = 1_000_000, until_s: float = float("inf")) -> tuple[int, Counts]:
    """Start, kill at a random moment, start again; in the end everything acknowledged is counted in the file."""
    done, chance = 0, random.Random(1)  # noqa: S311  # no secret
    server = begin(db, alone=alone)
    with loading(server) as load:
        while done < kills and time.monotonic() < until_s:
            load.more(10)
            time.sleep(chance.uniform(0.0, 0.5))
            server.kill()
            assert server.process.returncode == -signal.SIGKILL
            done += 1
            server = load.server = begin(db, alone=alone)
        load.more(10)
        load.stop()
    server.kill()
    assert "damaged" not in server.said
    return done, load.counts(held(db))
