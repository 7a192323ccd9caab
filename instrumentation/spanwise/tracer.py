"""The tracer that all spans of this package come from."""

from __future__ import annotations

from functools import cache

from opentelemetry import trace

from spanwise import semconv

_provider: trace.TracerProvider | None = None
# By scope, with the provider they come from: asking it for one takes as long as starting a span.
_tracers: dict[str, tuple[trace.TracerProvider, trace.Tracer]] = {}


def tracer() -> trace.Tracer:
    """The tracer of the provider that ``instrument`` chose, else of the global one."""
    return _kept(semconv.SCOPE) or _made(semconv.SCOPE, release())


def of_scope(name: str) -> trace.Tracer:
    """The same for spans that another library has named its own."""
    return _kept(name) or _made(name)


def _kept(scope: str) -> trace.Tracer | None:
    known = _tracers.get(scope)
    return None if known is None or known[0] is not provider() else known[1]


def _made(scope: str, version: str | None = None) -> trace.Tracer:
    chosen = provider()
    made = chosen.get_tracer(scope, version)
    _tracers[scope] = chosen, made
    return made


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
    _tracers.clear()


@cache
def release() -> str:
    """The installed version of this package, "0" from a bare checkout."""
    from importlib.metadata import PackageNotFoundError, version  # takes longer to load than all of ours

    try:
        return version(semconv.SCOPE)
    except PackageNotFoundError:
        return "0"
