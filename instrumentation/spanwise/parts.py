"""The instrumented libraries: each is patched when the program has imported it, and never imported for its sake."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable

import wrapt

from spanwise.neighbours import OFFICIAL_HTTP, half_imported
from spanwise.safety import shield

_PARTS = {
    "openai": "spanwise.openai",
    "mcp": "spanwise.mcp",
    "fastmcp": "spanwise.fastmcp",
    "httpx": "spanwise.http",
}
_LIBRARIES = {
    "openai": ("openai",),
    "mcp": ("mcp",),
    "fastmcp": ("fastmcp",),
    "httpx": ("httpx", "httpx2", OFFICIAL_HTTP),
}
_CARRIERS = ("spanwise.threads", "spanwise.processes")

_wanted: set[str] = set()
_hooked: set[str] = set()
_installed: list[str] = []


def install(names: Iterable[str]) -> None:
    """Instrument the libraries called "httpx", "openai" and "mcp", now or as soon as they are imported."""
    for module in _CARRIERS:
        with shield():
            _install(module)
    for name in names:
        _wanted.add(name)
        for library in _LIBRARIES[name]:
            _await(library, name)


def uninstall(names: Iterable[str] = tuple(_PARTS)) -> None:
    """Put everything back, the last first."""
    modules = {_PARTS.get(name, name) for name in names}
    _wanted.difference_update(names)
    if not _wanted:
        modules.update(_CARRIERS)
    for module in [module for module in reversed(_installed) if module in modules]:
        _installed.remove(module)
        with shield():
            importlib.import_module(module).uninstall()


def _await(library: str, name: str) -> None:
    if library in sys.modules:
        _arrived(name)
    elif library not in _hooked:
        _hooked.add(library)
        wrapt.register_post_import_hook(lambda _: _arrived(name), library)


def _arrived(name: str) -> None:
    if name in _wanted and not (name == "httpx" and half_imported(OFFICIAL_HTTP)):
        with shield():
            _install(_PARTS[name])


def _install(module: str) -> None:
    if module not in _installed:
        _installed.append(module)  # first, since loading the module may import the library once more
        importlib.import_module(module).install()
