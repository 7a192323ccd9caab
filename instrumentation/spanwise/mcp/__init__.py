"""Spans of MCP clients and servers: connecting, handshake, every request, closing."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from typing import Any, Final

import wrapt

from spanwise.mcp.patch import Patches
from spanwise.safety import guarded, shield

_SDK: Final = "mcp"
_OLDEST: Final = (1, 9)
# Each has an ``install``; those of one SDK line stand together.
_PARTS: Final = {
    1: ("legacy.opening", "legacy.requesting", "legacy.notifying", "legacy.streaming", "legacy.serving"),
    2: ("native", "opening", "requesting", "notifying", "cache", "closing", "streaming", "serving"),
}

_log = logging.getLogger("spanwise")
_lock = threading.RLock()
_patches: Patches | None = None
_wanted = False
_watching = False


def install() -> None:
    """Trace the ``mcp`` SDK: at once if the program has imported it, else as soon as it does."""
    global _wanted, _watching  # noqa: PLW0603 - one process has one instrumentation
    with _lock:
        _wanted = True
        if _SDK in sys.modules:
            _apply()
        elif not _watching:
            _watching = True
            wrapt.register_post_import_hook(_imported, _SDK)


def uninstall() -> None:
    """Put the SDK's original functions back."""
    global _wanted, _patches  # noqa: PLW0603 - as above
    with _lock:
        _wanted = False
        if _patches is not None:
            _patches.undo()
            _patches = None


def _imported(_module: Any) -> None:
    with _lock:
        if _wanted:
            _apply()


@guarded
def _apply() -> None:
    global _patches  # noqa: PLW0603 - as above
    if _patches is not None:
        return
    parts = _parts()
    if not parts:
        return
    from spanwise.mcp import scope

    _patches = Patches(scope.abandon_all)
    for part in parts:
        with shield():  # one that does not fit costs only what it would have seen
            importlib.import_module(f"{__name__}.{part}").install(_patches)


def _parts() -> tuple[str, ...]:
    from importlib.metadata import version

    found = version(_SDK)
    major, minor = (int(number) for number in found.split(".")[:2])
    if (major, minor) < _OLDEST or major not in _PARTS:
        _log.warning("spanwise traces mcp from 1.9 on and 2.x; version %s stays untraced", found)
        return ()
    return _PARTS[major]
