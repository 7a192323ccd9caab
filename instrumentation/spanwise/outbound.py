"""Keeps the conversation from hosts that may not learn it, where the HTTP requests are traced by somebody else."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from opentelemetry.context import attach, detach

from spanwise.context import propagates_to, without_conversation
from spanwise.safety import guarded
from spanwise.seam import Seam

_seams: list[Seam] = []


def install(library: str) -> None:
    """Stand in front of the transports of httpx or httpx2, before whatever injects the context into the headers."""
    module = importlib.import_module(library)
    for seam in (
        Seam(module.HTTPTransport, "handle_request", _send),
        Seam(module.AsyncHTTPTransport, "handle_async_request", _async_send),
    ):
        seam.open()
        _seams.append(seam)


def uninstall() -> None:
    """Step aside again."""
    while _seams:
        _seams.pop().close()


def _send(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def handle_request(self: Any, request: Any) -> Any:
        with _discreet(request):
            return original(self, request)

    return handle_request


def _async_send(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        with _discreet(request):
            return await original(self, request)

    return handle_async_request


@contextmanager
def _discreet(request: Any) -> Iterator[None]:
    if not _elsewhere(request):
        yield
        return
    token = attach(without_conversation())
    try:
        yield
    finally:
        detach(token)


@guarded
def _elsewhere(request: Any) -> bool:
    return not propagates_to(request.url.host)
