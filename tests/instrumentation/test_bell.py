"""Waking a thread."""

from __future__ import annotations

import gc
import threading
from time import monotonic

from spanwise.bell import Bell


class Dropped:
    """Rings when it is collected."""

    def __init__(self, bell: Bell) -> None:
        self.bell = bell
        self.itself = self

    def __del__(self) -> None:
        self.bell.ring()


def test_it_may_ring_by_a_collection_in_the_midst_of_itself() -> None:
    bell = Bell()

    def collect(_frame: object, event: str, _argument: object) -> None:
        if event in ("c_call", "call", "c_return"):
            Dropped(bell)
            gc.collect()

    def work() -> None:
        bell.ring()
        bell.wait(0.1)

    threading.setprofile(collect)
    thread = threading.Thread(target=work, daemon=True)
    try:
        thread.start()
        thread.join(20)
    finally:
        threading.setprofile(None)
    assert not thread.is_alive()


def test_who_waits_hears_once_of_many_rings() -> None:
    bell = Bell()
    for _ in range(3):
        bell.ring()
    assert bell.rung
    bell.wait(10)
    assert not bell.rung


def test_waiting_ends_without_a_ring() -> None:
    began = monotonic()
    Bell().wait(0.05)
    assert monotonic() - began >= 0.04
