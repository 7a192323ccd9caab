"""Switches the instrumentation of this process on and off."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.sdk.environment_variables import OTEL_SDK_DISABLED
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter

from spanwise import content, context, function, handover, hashing, marks, tracer, trial, wrapping
from spanwise.address import fault
from spanwise.attachment import Attachment, attached
from spanwise.endpoint import Endpoint, listener
from spanwise.endpoint import endpoint as find_endpoint
from spanwise.endpoint import exporter as make_exporter
from spanwise.endpoint import name as name_endpoint
from spanwise.exporters import others
from spanwise.neighbours import behind, sends_to
from spanwise.outlet import Outlet
from spanwise.parts import install, uninstall
from spanwise.process import resource
from spanwise.safety import shield, tell

# Not when they are first used: a child of fork waits for ever for a module that another thread was just loading.
_LOADED = (function, marks, trial, wrapping)

_log = logging.getLogger("spanwise")
_lock = threading.RLock()
_current: Attachment | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Where spans come from and go to."""

    service_name: str | None
    endpoint: str | None
    provider: TracerProvider | None
    exporter: SpanExporter | None


def instrument(  # noqa: PLR0913 - every argument is public and has a default
    service_name: str | None = None,
    endpoint: str | None = None,
    *,
    capture_content: bool = False,
    mcp: bool = True,
    openai: bool = True,
    httpx: bool = True,
    propagate_to: Iterable[str] = (),
    tenant: str | None = None,
    tracer_provider: TracerProvider | None = None,
    span_exporter: SpanExporter | None = None,
) -> None:
    """Trace model calls, MCP and HTTP requests of this process from now on. Calling it again changes nothing.

    A tracer provider that is already there is used and not replaced: spans go to our exporter as well only if
    ``endpoint``, ``span_exporter`` or an OTEL endpoint variable names a target. Without a provider spans go by
    OTLP/HTTP to 127.0.0.1:4318. ``propagate_to`` names hosts beyond loopback and the MCP servers that may receive
    the conversation id. Nothing in here raises into the program.
    """
    with _lock, shield():
        if _current is not None or disabled(os.environ):
            return
        content.capture(on=capture_content)
        hashing.scope(tenant)
        name_endpoint(endpoint)
        for host in propagate_to:
            context.allow_host(host)
        _connect(Target(service_name, endpoint, tracer_provider, span_exporter))
        handover.join(os.environ)
        wanted = {"httpx": httpx, "openai": openai, "mcp": mcp, "fastmcp": mcp}
        install(name for name, on in wanted.items() if on)


def uninstrument() -> None:
    """Put the original functions back and send what is still queued."""
    global _current
    with _lock, shield():
        attachment, _current = _current, None
        uninstall()
        handover.leave()
        context.forget_hosts()
        content.capture(on=False)
        hashing.scope(None)
        name_endpoint(None)
        tracer.use(None)
        if attachment is not None:
            attachment.disconnect()


def disabled(environ: Mapping[str, str]) -> bool:
    """Whether the SDK was told to trace nothing at all."""
    return environ.get(OTEL_SDK_DISABLED, "").strip().lower() == "true"


def _connect(target: Target) -> None:
    global _current  # noqa: PLW0603 - as above
    provider, own = _provider(target)
    attachment = attached(provider)
    attachment.connect(tuple(_outlets(target, provider, own=own)))
    tracer.use(provider)
    tracer.release()  # as above: looking it up loads what would else be loaded with the first span
    _current = attachment


def _provider(target: Target) -> tuple[TracerProvider, bool]:
    """The provider to use, and whether it is ours, so that nobody else sends its spans anywhere."""
    if target.provider is not None:
        return target.provider, False
    existing = behind(trace.get_tracer_provider())
    if isinstance(existing, TracerProvider):
        return existing, existing is _made()
    return _make(target.service_name), True


_own: list[TracerProvider] = []


def _made() -> TracerProvider | None:
    return _own[0] if _own else None


def _make(service_name: str | None) -> TracerProvider:
    provider = TracerProvider(resource=resource(service_name))
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):  # else somebody's own, which must stay
        trace.set_tracer_provider(provider)
    _own[:] = [provider]
    return provider


def _outlets(target: Target, provider: TracerProvider, *, own: bool) -> Iterator[Outlet]:
    given = target.exporter
    if given is not None:
        yield Outlet(lambda: given)
        return
    found = find_endpoint(target.endpoint, os.environ)
    if found is not None and (own or found.chosen) and _wanted(found, provider):
        yield Outlet(lambda: make_exporter(found), listener(found))
    for make in others(os.environ) if own else ():
        yield Outlet(make)


def _wanted(found: Endpoint, provider: TracerProvider) -> bool:
    if (wrong := fault(found)) is not None:
        tell(f"no spans are sent: the endpoint {wrong}")
        return False
    if sends_to(provider, found.url):
        _log.debug("the program already sends its spans to %s", found.url)
        return False
    return True
