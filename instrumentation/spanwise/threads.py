"""Carries the current span and conversation into threads and the work of pools, and takes them out again afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import wraps
from typing import Any

from opentelemetry.context import Context, attach, detach, get_current

from spanwise.safety import guarded, shield
from spanwise.seam import Seam

# Threads that live as long as the process and work for whoever asks: what happened to be current when one of them
# was started is nothing that its work belongs to.
_POOLS = (
    "anyio",
    "apscheduler",
    "concurrent",
    "grpc",
    "logging",
    "multiprocessing",
    "opentelemetry",
    "spanwise",
    "trio",
)
_SERVERS = ("cheroot", "gunicorn", "http", "hypercorn", "socketserver", "tornado", "uvicorn", "waitress", "werkzeug")
_WORKERS = frozenset((*_POOLS, *_SERVERS))


def install() -> None:
    """Make threads, and work that is handed to a ``ThreadPoolExecutor``, belong to the span that started them."""
    _submit.open()
    _start.open()


def uninstall() -> None:
    """Put the original functions back."""
    _start.close()
    _submit.close()


def _carrying(original: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    @wraps(original)
    def submit(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # An empty context is carried as well: a pool's thread must not fall back on what it saw last.
        return original(self, _Within(get_current(), fn), *args, **kwargs)

    return submit


def _starting(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def start(self: threading.Thread, *args: Any, **kwargs: Any) -> None:
        carried = _carried(self)
        try:
            original(self, *args, **kwargs)
        except BaseException:
            _dropped(carried)
            raise

    return start


@guarded
def _carried(thread: threading.Thread) -> _Run | None:
    """Let ``thread`` begin in the current context; nothing is done where there is nothing to carry."""
    ctx = get_current()
    if not ctx or thread.ident is not None or _works_for_all(thread):
        return None
    carried = _Run(ctx, thread)
    thread.run = carried  # type: ignore[method-assign] # so it is found whatever class the thread is of
    return carried


@guarded
def _dropped(carried: _Run | None) -> None:
    """The thread could not be started."""
    if carried is not None:
        carried.restore()


def _works_for_all(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None)
    modules = (type(thread).__module__, getattr(target, "__module__", None))
    return any(module.partition(".")[0] in _WORKERS for module in modules if isinstance(module, str))


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


class _Run:
    """What a thread runs instead of its own ``run``, which is back in its place before it does anything."""

    __slots__ = ("_ctx", "_own", "_thread")

    def __init__(self, ctx: Context, thread: threading.Thread) -> None:
        self._ctx, self._thread, self._own = ctx, thread, thread.run

    def restore(self) -> None:
        """Take ourselves out of the thread again."""
        if vars(self._thread).get("run") is not self:
            return
        del self._thread.run
        if self._thread.run != self._own:  # it had one of its own, not that of its class
            self._thread.run = self._own  # as it was

    def __call__(self) -> None:
        run = self._own
        with shield():
            attach(self._ctx)  # for good: the thread ends with what it runs
            self.restore()
            del self._ctx, self._thread, self._own  # nothing is held longer than needed
        run()


_submit = Seam(ThreadPoolExecutor, "submit", _carrying)
_start = Seam(threading.Thread, "start", _starting)
