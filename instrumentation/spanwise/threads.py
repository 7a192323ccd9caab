"""Carries the current span and conversation into the threads of a pool, and takes them out again afterwards."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import wraps
from typing import Any

from opentelemetry.context import Context, attach, detach, get_current

from spanwise.seam import Seam


def install() -> None:
    """Make work that is handed to a ``ThreadPoolExecutor`` belong to the span that handed it over."""
    _submit.open()


def uninstall() -> None:
    """Put the original ``submit`` back."""
    _submit.close()


def _carrying(original: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    @wraps(original)
    def submit(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # An empty context is carried as well: a pool's thread must not fall back on what it saw last.
        return original(self, _Within(get_current(), fn), *args, **kwargs)

    return submit


class _Within:
    """A function that runs in the context it was submitted from."""

    __slots__ = ("_ctx", "_fn")

    def __init__(self, ctx: Context, fn: Callable[..., Any]) -> None:
        self._ctx, self._fn = ctx, fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        token = attach(self._ctx)
        try:
            return self._fn(*args, **kwargs)
        finally:
            detach(token)


_submit = Seam(ThreadPoolExecutor, "submit", _carrying)
