"""Wrapping functions of an SDK, and putting the original objects back."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable
from typing import Any

import wrapt

from spanwise.seam import Seam

# (original bound function, instance, positional, keywords) -> what the caller gets
Wrapper = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]

_log = logging.getLogger("spanwise")


class Patches:
    """The replaced attributes of one SDK, in order.

    ``at_exit`` is called when the process ends while they are in place, before a tracer provider of before stops.
    """

    def __init__(self, at_exit: Callable[[], None]) -> None:
        self._active = True
        self._at_exit = at_exit
        atexit.register(at_exit)
        self._seams: list[Seam] = []

    def wrap(self, owner: Any, name: str, wrapper: Wrapper) -> None:
        """Put ``wrapper`` around the function that ``owner`` (class or module) itself defines as ``name``.

        An SDK version that has no such function keeps working; what the wrapper would have recorded is missing.
        """
        original = vars(owner).get(name)
        if original is None:
            _log.warning("spanwise: this version of the SDK has no %s.%s", owner.__name__, name)
            return
        self.replace(owner, name, wrapt.FunctionWrapper(original, wrapper, enabled=self._enabled))

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set ``owner.name`` to ``value`` until ``undo``."""
        seam = Seam(owner, name, lambda _: value)
        seam.open()
        self._seams.append(seam)

    def undo(self) -> None:
        """Put the originals back; where somebody wrapped us meanwhile, only stop recording."""
        self._active = False
        atexit.unregister(self._at_exit)
        while self._seams:
            self._seams.pop().close()

    def _enabled(self) -> bool:
        return self._active
