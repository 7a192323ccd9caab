"""Trace headers on requests of the aiohttp backend, which the HTTP instrumentors that we bring do not see."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from opentelemetry.context import get_current
from opentelemetry.propagate import inject

from spanwise.context import propagates_to, without_conversation, writable
from spanwise.openai.sending import current
from spanwise.safety import guarded


def carrying(original: Callable[..., Any]) -> Callable[..., Any]:
    """A transport's ``handle_async_request`` whose requests say which model call they belong to."""

    @wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        _inject(request)
        return await original(self, request)

    return handle_async_request


@guarded
def _inject(request: Any) -> None:
    if current.get() is None:
        return
    # An instrumentation of aiohttp itself, where there is one, puts its own in their place.
    ctx = get_current() if propagates_to(request.url.host) else without_conversation()
    inject(request.headers, writable(ctx) or ctx)
