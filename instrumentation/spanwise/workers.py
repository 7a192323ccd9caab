"""The end of processes that ``multiprocessing`` starts: they leave without running what ``atexit`` was given."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Protocol
from weakref import WeakSet

import wrapt

_UTIL = "multiprocessing.util"
_LAST = -1000  # after everything that the program registered, which may still make spans


class Closing(Protocol):
    """Something that has to be told of the end of the process."""

    def shutdown(self) -> None:
        """The process ends."""


_told: WeakSet[Closing] = WeakSet()


def tell(owner: Closing) -> None:
    """Have ``owner`` told of the end of each worker of ``multiprocessing`` that has it, this process included.

    Nothing is imported for it: whoever is or starts such a process has the module.
    """
    if not _told:
        wrapt.register_post_import_hook(_imported, _UTIL)
    _told.add(owner)
    if _UTIL in sys.modules:
        _register(sys.modules[_UTIL], owner)


def _imported(util: ModuleType) -> None:
    for owner in list(_told):
        _register(util, owner)


def _register(util: ModuleType, owner: Closing) -> None:
    util.register_after_fork(owner, _finalize)
    if sys.modules["multiprocessing.process"].parent_process() is not None:
        _finalize(owner)


def _finalize(owner: Closing) -> None:
    sys.modules[_UTIL].Finalize(None, owner.shutdown, exitpriority=_LAST)
