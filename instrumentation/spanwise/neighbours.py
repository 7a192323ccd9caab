"""What other instrumentation of the same process already does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.instrumentation.utils import is_instrumentation_enabled
from opentelemetry.sdk.trace import TracerProvider

from spanwise import semconv
from spanwise.safety import guarded

# On functions of ours. Whoever wraps one takes the mark over, or passes the question on to what is wrapped.
MARK: Final = "_self_spanwise"
# It imports the HTTP libraries before its own classes are there: who hears of those cannot use it yet.
OFFICIAL_HTTP: Final = "opentelemetry.instrumentation.httpx"
_MODEL_CALL: Final = (semconv.GEN_AI_REQUEST_MODEL, semconv.GEN_AI_OPERATION_NAME)
_DEPTH: Final = 50  # nobody wraps a function so often; a loop of wrappers would never end


def sends_to(provider: TracerProvider, url: str) -> bool:
    """Whether a processor of ``provider`` already exports to ``url``, so that ours would send everything twice."""
    return bool(_sends_to(provider, url))


def behind(provider: trace.TracerProvider) -> trace.TracerProvider:
    """The SDK's provider that somebody's own passes everything on to, else the given one."""
    inner = getattr(provider, "provider", None)
    return inner if isinstance(inner, TracerProvider) else provider


def silenced() -> bool:
    """Whether the program wants no spans now.

    Others suppress instrumentation inside their span of a model call, to be rid of the HTTP request in it; that is not
    meant for the call itself, of which they often see less than we do.
    """
    return not is_instrumentation_enabled() and not _in_their_model_call()


def bypasses(owner: Any, name: str) -> list[type[Any]]:
    """Subclasses of ``owner`` on which others wrapped its ``name``: calls of theirs would pass a seam on it by."""
    return list(_bypasses(owner, name) or ())


def half_imported(module: str) -> bool:
    """Whether the module is being imported right now."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


@guarded
def _sends_to(provider: TracerProvider, url: str) -> bool:
    # The SDK has no public way to ask; where these names change, the answer is "no" and spans are sent twice,
    # which a collector that tells spans apart by their ids survives.
    active = getattr(provider, "_active_span_processor", None)
    processors = getattr(active, "_span_processors", ())
    return any(_target(processor) == _bare(url) for processor in processors)


def _target(processor: object) -> str:
    exporter = getattr(processor, "span_exporter", None)
    return _bare(str(getattr(exporter, "_endpoint", "")))


def _bare(url: str) -> str:
    # The gRPC exporter keeps host and port only.
    return url.split("://", 1)[-1].rstrip("/").lower()


@guarded
def _in_their_model_call() -> bool:
    span = trace.get_current_span()
    attributes = getattr(span, "attributes", None)
    scope = getattr(getattr(span, "instrumentation_scope", None), "name", "")
    if not span.is_recording() or not isinstance(attributes, Mapping) or scope == semconv.SCOPE:
        return False
    return any(name in attributes for name in _MODEL_CALL)


@guarded
def _bypasses(owner: Any, name: str) -> list[type[Any]]:
    original = vars(owner).get(name)
    if not isinstance(owner, type) or original is None:
        return []
    return [kind for kind in _below(owner) if name in vars(kind) and _passes_by(vars(kind)[name], original)]


def _below(owner: type[Any]) -> Iterator[type[Any]]:
    for kind in owner.__subclasses__():
        yield kind
        yield from _below(kind)


def _passes_by(wrapper: Any, original: Any) -> bool:
    """Whether it leads to the same function as the original does, without one of ours on the way."""
    return not getattr(wrapper, MARK, False) and _root(wrapper) is _root(original)


def _root(wrapper: Any) -> Any:
    for _ in range(_DEPTH):
        inner = getattr(wrapper, "__wrapped__", None)
        if inner is None:
            break
        wrapper = inner
    return wrapper
