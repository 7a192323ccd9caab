"""HTTP requests of httpx and httpx2, by the official instrumentors, with what these leave out of a connection."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from opentelemetry.context import attach
from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue

from spanwise import tracer
from spanwise.connection import Connection, observe
from spanwise.context import propagates_to, without_conversation, writable
from spanwise.safety import guarded

STABILITY_VARIABLE = "OTEL_SEMCONV_STABILITY_OPT_IN"
_INSTRUMENTORS = {"httpx": "HTTPXClientInstrumentor", "httpx2": "HTTPX2ClientInstrumentor"}

_installed: list[Any] = []


def install() -> None:
    """Instrument whichever of httpx and httpx2 is there; one that others already instrumented is left to them."""
    with _current_names():
        for library, name in _INSTRUMENTORS.items():
            if find_spec(library) is not None:
                _instrument(name)


def uninstall() -> None:
    """Put the original transports back."""
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


def _instrument(name: str) -> None:
    from opentelemetry.instrumentation import httpx as official

    instrumentor = getattr(official, name)()
    if instrumentor.is_instrumented_by_opentelemetry:
        return
    instrumentor.instrument(
        tracer_provider=tracer.provider(),
        request_hook=_request,
        async_request_hook=_async_request,
    )
    _installed.append(instrumentor)


def _request(span: Span, info: Any) -> None:
    _watch(span, info, asynchronous=False)


async def _async_request(span: Span, info: Any) -> None:
    _watch(span, info, asynchronous=True)


@guarded
def _watch(span: Span, info: Any, *, asynchronous: bool) -> None:
    if not propagates_to(_host(info.url)):
        # The hook runs right before the headers are injected, in the context that the end of the HTTP span
        # restores, so that this lasts for one request.
        attach(without_conversation())
    if (clean := writable()) is not None:
        attach(clean)
    seen = Connection()

    def heard(event: str) -> None:
        if seen.event(event):
            _write(span, seen.attributes())

    observe(info.extensions, guarded(heard), asynchronous=asynchronous)


def _write(span: Span, attributes: Mapping[str, AttributeValue]) -> None:
    if attributes and span.is_recording():
        span.set_attributes(attributes)


def _host(url: Any) -> str:
    host = getattr(url, "host", None)
    if host is None and isinstance(url, tuple):
        host = url[1].decode("ascii", "replace")
    return str(host or "")
