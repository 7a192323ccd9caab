"""Work whose end nobody has seen yet: ended as incomplete before the process can no longer send it."""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet

from spanwise.safety import shield


class Work(Protocol):
    """Something that holds an open span."""

    def forget(self) -> None:
        """End the span; does nothing where it has ended already."""


_open: WeakSet[Work] = WeakSet()
_lock = threading.RLock()  # the collection of garbage may end one work while another one is being remembered


def begun(work: Work) -> None:
    """Remember ``work`` for as long as somebody else holds it."""
    with _lock:
        _open.add(work)


def ended(work: Work) -> None:
    """Forget about ``work``."""
    with _lock:
        _open.discard(work)


def end_all() -> None:
    """End whatever is still open."""
    with _lock:
        found = list(_open)
    for work in found:
        with shield():
            work.forget()


def _renew() -> None:
    """In a child of fork: what was open belongs to the parent, and so does the lock."""
    global _open, _lock
    _open, _lock = WeakSet(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
