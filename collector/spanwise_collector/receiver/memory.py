"""Keeps the process below a limit of memory by refusing requests for a while, as the OpenTelemetry Collector does."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa

from spanwise_collector.store import Overloaded

_log = logging.getLogger(__name__)

_INTERVAL_S: Final = 1.0
_SOFT: Final = 0.8  # of the limit: from here on requests are refused
_OURS: Final = 0.8  # of what the machine or the container allows, where nobody set a limit
_GROWTH: Final = 4  # a request, and the columns and rows that are made of it, by its own size
_BIG: Final = 2**20  # bytes; smaller requests cannot do much harm within an interval
_UNLIMITED: Final = 2**60  # what cgroups say when there is no limit is far above
_CGROUPS: Final = ("/sys/fs/cgroup{}/memory.max", "/sys/fs/cgroup/memory{}/memory.limit_in_bytes")


class MemoryGuard:
    """Looks at the resident memory once a second, and for each big request; ``limit`` in bytes, 0 for the machine's."""

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit or int(_OURS * allowed())
        self._soft = int(_SOFT * self.limit)
        self._full = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="spanwise-memory", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; idempotent."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def admit(self, nbytes: int = 0) -> None:
        """Raise Overloaded if there is no room for a request of this size now."""
        if self._full or (nbytes >= _BIG and resident() + _GROWTH * nbytes > self.limit):
            raise Overloaded(self._reason)

    @property
    def trouble(self) -> str | None:
        """Why requests are refused now; None if they are not."""
        return self._reason if self._full else None

    @property
    def _reason(self) -> str:
        return f"the memory limit of {self.limit} bytes (SPANWISE_MAX_MEMORY_BYTES) is nearly reached"

    def look(self) -> None:
        """Give back what is not used, then decide whether requests are refused."""
        if resident() > self._soft:
            _give_back()
        full = resident() > self._soft
        if full and not self._full:
            _log.warning("requests are refused for now: %s", self._reason)
        self._full = full

    def _watch(self) -> None:
        while not self._stopped.wait(_INTERVAL_S):
            self.look()


def resident() -> int:
    """Bytes of this process that are in memory; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123  # asked for every big request
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def allowed() -> int:
    """The least of what machine, container and ``ulimit`` let this process have, in bytes."""
    return min([_UNLIMITED, *_machine(), *_containers(), *_process()])


def _machine() -> Iterator[int]:
    if hasattr(os, "sysconf"):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _containers() -> Iterator[int]:
    for path in {"", *_own_groups()}:
        for pattern in _CGROUPS:
            try:
                yield int(Path(pattern.format(path)).read_text(encoding="ascii"))
            except (OSError, ValueError):  # no such group, or "max"
                continue


def _own_groups() -> Iterator[str]:
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            yield path.rstrip("/")


def _process() -> Iterator[int]:
    if sys.platform != "win32":
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            yield soft


def _give_back() -> None:
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        # What was freed stays with the C library otherwise, and the process would look full for ever.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim:
            trim(0)
