"""Entry points for ``opentelemetry-instrument``, which brings its own provider and exporter."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined] # untyped there
from opentelemetry.sdk.trace import TracerProvider

from spanwise import parts, tracer
from spanwise.attachment import attached


class _Instrumentor(BaseInstrumentor):  # type: ignore[misc] # as above
    """One library, switched on and off by name."""

    _name: ClassVar[str]
    _requires: ClassVar[tuple[str, ...]]

    def instrumentation_dependencies(self) -> Collection[str]:
        """The versions that the seams were checked with."""
        return self._requires

    def _instrument(self, **kwargs: Any) -> None:
        if (provider := kwargs.get("tracer_provider")) is not None:
            tracer.use(provider)
        current = tracer.provider()
        if isinstance(current, TracerProvider):
            attached(current).mark()
        parts.install([self._name])

    def _uninstrument(self, **kwargs: Any) -> None:
        del kwargs
        parts.uninstall([self._name])


class OpenAIInstrumentor(_Instrumentor):
    """Model calls of the ``openai`` SDK."""

    _name = "openai"
    _requires = ("openai >= 2.40",)


class MCPInstrumentor(_Instrumentor):
    """MCP clients and servers of the ``mcp`` SDK."""

    _name = "mcp"
    _requires = ("mcp >= 1.9",)
