"""Spans of MCP clients and servers: connecting, handshake, every request, closing."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any, Final

import wrapt

from spanwise.mcp.patch import Patches
from spanwise.safety import guarded

_SDK: Final = "mcp"
_MAJOR: Final = 2

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
    if _patches is not None or not _supported():
        return
    from mcp.shared import _otel

    from spanwise.mcp import cache, closing, native, opening, requesting, scope, serving, streaming

    _patches = Patches(scope.abandon_all)
    _patches.replace(_otel, "_tracer", native.Splitter())
    for part in (opening, requesting, cache, closing, streaming, serving):
        part.install(_patches)


def _supported() -> bool:
    from importlib.metadata import version

    found = version(_SDK)
    if int(found.split(".")[0]) == _MAJOR:
        return True
    _log.warning("spanwise traces mcp %d.x; version %s stays untraced", _MAJOR, found)
    return False
