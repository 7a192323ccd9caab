"""HTTP requests of httpx and httpx2, by the official instrumentors, with what these leave out of a connection."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from opentelemetry.context import attach
from opentelemetry.trace import Span

from spanwise import outbound
from spanwise.context import propagates_to, without_conversation, writable
from spanwise.exchange import running
from spanwise.httptracing import BodyTracers
from spanwise.safety import guarded

STABILITY_VARIABLE = "OTEL_SEMCONV_STABILITY_OPT_IN"
_INSTRUMENTORS = {"httpx": "HTTPXClientInstrumentor", "httpx2": "HTTPX2ClientInstrumentor"}

_installed: list[Any] = []


def install() -> None:
    """Instrument whichever of httpx and httpx2 is there; one that others already instrumented is left to them."""
    with _current_names():
        for library, name in _INSTRUMENTORS.items():
            if find_spec(library) is not None and not _instrument(name):
                outbound.install(library)


def uninstall() -> None:
    """Put the original transports back."""
    outbound.uninstall()
    while _installed:
        _installed.pop().uninstrument()


@contextmanager
def _current_names() -> Iterator[None]:
    """The instrumentor would else write the names from before 2023. Whoever chose some keeps them."""
    if os.environ.get(STABILITY_VARIABLE):
        yield
        return
    os.environ[STABILITY_VARIABLE] = "http"
    try:
        yield
    finally:
        del os.environ[STABILITY_VARIABLE]


def _instrument(name: str) -> bool:
    """Whether it is ours now; somebody else traces it otherwise."""
    from opentelemetry.instrumentation import httpx as official

    instrumentor = getattr(official, name)()
    if instrumentor.is_instrumented_by_opentelemetry:
        return False
    instrumentor.instrument(
        tracer_provider=BodyTracers(),
        request_hook=_request,
        response_hook=_response,
        async_request_hook=_async_request,
        async_response_hook=_async_response,
    )
    _installed.append(instrumentor)
    return True


def _request(_span: Span, info: Any) -> None:
    _begin(info, asynchronous=False)


async def _async_request(_span: Span, info: Any) -> None:
    _begin(info, asynchronous=True)


def _response(_span: Span, _info: Any, answer: Any) -> None:
    _answered(answer)


async def _async_response(_span: Span, _info: Any, answer: Any) -> None:
    _answered(answer)


@guarded
def _begin(info: Any, *, asynchronous: bool) -> None:
    if not propagates_to(_host(info.url)):
        # The hook runs right before the headers are injected, in the context that the end of the HTTP span
        # restores, so that this lasts for one request.
        attach(without_conversation())
    if (clean := writable()) is not None:
        attach(clean)
    exchange = running.get()
    if exchange is not None:
        exchange.watch(info.extensions, asynchronous=asynchronous)


@guarded
def _answered(answer: Any) -> None:
    exchange = running.get()
    if exchange is not None:
        exchange.answered(answer.stream)


def _host(url: Any) -> str:
    host = getattr(url, "host", None)
    if host is None and isinstance(url, tuple):
        host = url[1].decode("ascii", "replace")
    return str(host or "")
