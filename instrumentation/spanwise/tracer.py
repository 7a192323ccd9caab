"""The tracer that all spans of this package come from."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

from opentelemetry import trace

from spanwise import semconv

_provider: trace.TracerProvider | None = None


def tracer() -> trace.Tracer:
    """The tracer of the provider that ``instrument`` chose, else of the global one."""
    return provider().get_tracer(semconv.SCOPE, release())


def provider() -> trace.TracerProvider:
    """The provider that ``instrument`` chose, else the global one."""
    return _provider or trace.get_tracer_provider()


def service_name() -> str:
    """The service that the provider's spans name; "agent" where that is not known."""
    resource = getattr(provider(), "resource", None)
    name = getattr(resource, "attributes", {}).get(semconv.SERVICE_NAME)
    return str(name) if name else "agent"


def use(chosen: trace.TracerProvider | None) -> None:
    """Take spans from ``chosen`` from now on; None means the global one."""
    global _provider  # noqa: PLW0603 - one process has one instrumentation
    _provider = chosen


@cache
def release() -> str:
    """The installed version of this package, "0" from a bare checkout."""
    try:
        return version(semconv.SCOPE)
    except PackageNotFoundError:
        return "0"
