"""Entry points for ``opentelemetry-instrument``, which brings its own provider and exporter."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any, ClassVar

from opentelemetry import trace
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined] # untyped there
from opentelemetry.sdk.trace import TracerProvider

from spanwise import handover, parts, tracer
from spanwise.attachment import attached
from spanwise.installation import disabled
from spanwise.safety import tell
from spanwise.supported import SDKS


class _Instrumentor(BaseInstrumentor):  # type: ignore[misc] # as above
    """One library, switched on and off by name."""

    _name: ClassVar[str]
    _parts: ClassVar[tuple[str, ...]]

    def instrumentation_dependencies(self) -> Collection[str]:
        """The versions that the seams were checked with."""
        return (SDKS[self._name].requirement(self._name),)

    def _instrument(self, **kwargs: Any) -> None:
        if disabled(os.environ):
            return
        if (provider := kwargs.get("tracer_provider")) is not None:
            tracer.use(provider)
        current = tracer.provider()
        if isinstance(current, TracerProvider):
            attached(current).mark()
        elif isinstance(current, trace.ProxyTracerProvider):
            tell("there is no tracer provider yet, and without one nothing is sent: opentelemetry-distro brings one")
        handover.join(os.environ)
        parts.install(self._parts)

    def _uninstrument(self, **kwargs: Any) -> None:
        del kwargs
        parts.uninstall(self._parts)


class OpenAIInstrumentor(_Instrumentor):
    """Model calls of the ``openai`` SDK."""

    _name = "openai"
    _parts = ("openai",)


class MCPInstrumentor(_Instrumentor):
    """MCP clients and servers of the ``mcp`` SDK."""

    _name = "mcp"
    _parts = ("mcp", "fastmcp")
