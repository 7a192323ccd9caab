"""Work whose end nobody has seen yet: ended as incomplete before the process can no longer send it."""

from __future__ import annotations

from typing import Protocol
from weakref import WeakSet

from spanwise.safety import shield


class Work(Protocol):
    """Something that holds an open span."""

    def forget(self) -> None:
        """End the span; does nothing where it has ended already."""


_open: WeakSet[Work] = WeakSet()


def begun(work: Work) -> None:
    """Remember ``work`` for as long as somebody else holds it."""
    _open.add(work)


def ended(work: Work) -> None:
    """Forget about ``work``."""
    _open.discard(work)


def end_all() -> None:
    """End whatever is still open."""
    for work in list(_open):
        with shield():
            work.forget()
