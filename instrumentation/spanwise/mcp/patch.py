"""Wrapping functions of an SDK, and putting the original objects back."""

from __future__ import annotations

import atexit
import importlib
import logging
from collections.abc import Callable
from typing import Any, Protocol

import wrapt

from spanwise.seam import Seam

# (original bound function, instance, positional, keywords) -> what the caller gets
Wrapper = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]

_log = logging.getLogger("spanwise")
_missed: set[str] = set()


class Closable(Protocol):
    """Something that was put in place."""

    def close(self) -> None:
        """Put the original back."""


class Patches:
    """The replaced attributes of one SDK, in order.

    ``at_exit`` is called when the process ends while they are in place, before a tracer provider of before stops.
    An SDK version that lacks one of them keeps working; what would have been recorded there is missing.
    """

    def __init__(self, at_exit: Callable[[], None]) -> None:
        self._active = True
        self._at_exit = at_exit
        atexit.register(at_exit)
        self._seams: list[Closable] = []

    def wrap(self, owner: Any, name: str, wrapper: Wrapper, *, known: bool = True) -> None:
        """Put ``wrapper`` around the function that ``owner`` itself defines as ``name``.

        ``owner`` is a class, a module, or where to find one ("package.module:Class"). ``known`` says that every
        supported version has the function.
        """
        holder = find(owner)
        original = None if holder is None else vars(holder).get(name)
        if original is not None:
            seam = Seam(holder, name, lambda found: wrapt.FunctionWrapper(found, wrapper, enabled=self.enabled))
            seam.open()
            self.keep(seam)
        elif known:
            miss(f"{owner if isinstance(owner, str) else owner.__name__}.{name}")

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set ``owner.name`` to ``value`` until ``undo``."""
        holder = find(owner)
        if holder is None or name not in vars(holder):
            miss(f"{owner}.{name}")
            return
        seam = Seam(holder, name, lambda _: value)
        seam.open()
        self.keep(seam)

    def keep(self, seam: Closable) -> None:
        """Close ``seam`` with the others."""
        self._seams.append(seam)

    def undo(self) -> None:
        """Put the originals back; where somebody wrapped us meanwhile, only stop recording."""
        self._active = False
        atexit.unregister(self._at_exit)
        while self._seams:
            self._seams.pop().close()

    def enabled(self) -> bool:
        """Whether they are in place."""
        return self._active


def find(owner: Any) -> Any:
    """The module or class that "package.module:Class" names, None where there is none; what is no text is it."""
    if not isinstance(owner, str):
        return owner
    module, _, name = owner.partition(":")
    try:
        found = importlib.import_module(module)
    except ImportError:
        return None
    return getattr(found, name, None) if name else found


def miss(what: str) -> None:
    """Say, once, that this version of the SDK differs from those that we know."""
    if what not in _missed:
        _missed.add(what)
        _log.warning("spanwise: this version of the SDK has no %s; what happens there stays unseen", what)
