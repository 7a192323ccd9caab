"""Carries the current span and conversation into the worker processes of a ``ProcessPoolExecutor``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import wraps
from typing import Any

import wrapt
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.propagate import extract, inject

from spanwise.context import writable
from spanwise.safety import guarded
from spanwise.seam import Seam

_MODULE = "concurrent.futures.process"

_on = False
_seams: list[Seam] = []


def install() -> None:
    """Make work that is handed to worker processes belong to the span that handed it over."""
    global _on  # noqa: PLW0603 - one process has one instrumentation
    _on = True
    if _seams:
        _seams[0].open()
    elif _MODULE in sys.modules:
        _opened(sys.modules[_MODULE])
    else:
        wrapt.register_post_import_hook(_opened, _MODULE)


def uninstall() -> None:
    """Put the original ``submit`` back."""
    global _on  # noqa: PLW0603 - as above
    _on = False
    for seam in _seams:
        seam.close()


def _opened(module: Any) -> None:
    if not _seams:
        _seams.append(Seam(module.ProcessPoolExecutor, "submit", _carrying))
    if _on:
        _seams[0].open()


def _carrying(original: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    @wraps(original)
    def submit(self: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # An empty context is carried as well: a worker made by fork must not fall back on what it was forked in.
        return original(self, Carried(_carrier() or {}, fn), *args, **kwargs)

    return submit


@guarded
def _carrier() -> dict[str, str]:
    found: dict[str, str] = {}
    inject(found, writable() or get_current())
    return found


class Carried:
    """A function that another process runs in the context it was submitted from. It can be pickled if ``fn`` can."""

    __slots__ = ("_carrier", "_fn")

    def __init__(self, carrier: Mapping[str, str], fn: Callable[..., Any]) -> None:
        self._carrier, self._fn = carrier, fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As the function."""
        token = attach(_context(self._carrier) or Context())
        try:
            return self._fn(*args, **kwargs)
        finally:
            detach(token)


@guarded
def _context(carrier: Mapping[str, str]) -> Context:
    return extract(carrier, Context())
