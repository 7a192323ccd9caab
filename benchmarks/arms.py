"""Ways to trace one process: each can be switched on and off again, so that they can be measured in turn."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

Switch = Callable[[TracerProvider], Callable[[], None]]  # switches on, and returns what switches off


class Kept(SpanProcessor):
    """Keeps ended spans without looking at them: exporting is no part of what a call costs its caller."""

    def __init__(self) -> None:
        self._spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        """Keep it."""
        self._spans.append(span)

    def taken(self) -> tuple[int, int]:
        """Number and OTLP bytes of the spans since the last time."""
        spans, self._spans = self._spans, []
        return len(spans), encode_spans(spans).ByteSize() if spans else 0


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to trace."""

    name: str
    switch: Switch

    @contextmanager
    def on(self, provider: TracerProvider) -> Iterator[None]:
        """Trace like this inside the block."""
        off = self.switch(provider)
        try:
            yield
        finally:
            off()


def model_arms() -> list[Arm]:
    """Those for model calls that are installed here."""
    return [Arm("none", _none), Arm("spanwise", _spanwise), *_others()]


def mcp_arms() -> list[Arm]:
    """Those for MCP calls."""
    return [Arm("none", _silent), Arm("native", _none), Arm("spanwise", _spanwise)]


def global_provider() -> tuple[TracerProvider, Kept]:
    """The provider of this process, which the native spans of ``mcp`` go to, and what it keeps."""
    provider, kept = TracerProvider(shutdown_on_exit=False), Kept()
    provider.add_span_processor(kept)
    trace.set_tracer_provider(provider)
    return provider, kept


def _none(_provider: TracerProvider) -> Callable[[], None]:
    return lambda: None


def _silent(_provider: TracerProvider) -> Callable[[], None]:
    """The native spans of ``mcp`` have no switch; their tracer can be replaced."""
    from mcp.shared import _otel

    native = _otel._tracer  # noqa: SLF001 - there is no public way
    _otel._tracer = trace.NoOpTracer()  # noqa: SLF001

    def restore() -> None:
        _otel._tracer = native  # noqa: SLF001

    return restore


def _spanwise(provider: TracerProvider) -> Callable[[], None]:
    import spanwise

    spanwise.instrument(tracer_provider=provider, httpx=False)
    return spanwise.uninstrument


_INSTRUMENTORS: Final = {
    "genai-openai": ("opentelemetry.instrumentation.genai.openai", "OpenAIInstrumentor"),
    "openllmetry": ("opentelemetry.instrumentation.openai", "OpenAIInstrumentor"),
    "openlit": ("openlit.instrumentation.openai", "OpenAIInstrumentor"),
}


def _others() -> list[Arm]:
    return [Arm(name, _official(*where)) for name, where in _INSTRUMENTORS.items() if _installed(where[0])]


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _official(module: str, name: str) -> Switch:
    def switch(provider: TracerProvider) -> Callable[[], None]:
        instrumentor: Any = getattr(importlib.import_module(module), name)()
        before = _functions()
        instrumentor.instrument(tracer_provider=provider)

        def off() -> None:
            instrumentor.uninstrument()
            # Not all of them put everything back, and the next one would be measured on top of what is left.
            for (owner, attribute), value in before.items():
                setattr(owner, attribute, value)

        return off

    return switch


def _functions() -> dict[tuple[Any, str], Any]:
    """The methods of the SDK's resources and clients, as they are now."""
    owners = [
        value
        for name, module in list(sys.modules.items())
        if name.startswith(("openai.resources", "openai._base_client"))
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == name
    ]
    return {(owner, name): value for owner in owners for name, value in vars(owner).items() if callable(value)}
