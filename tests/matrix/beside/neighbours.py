"""Other instrumentations of the same SDKs, set up as their own documentation says."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One other instrumentation: what has to be installed for it, and how it is switched on."""

    distribution: str
    start: Callable[[], None]
    scopes: tuple[str, ...]  # how the names of its scopes begin
    own_provider: bool = False  # it makes the tracer provider and the exporter itself
    entry_points: bool = False  # opentelemetry-instrument finds it

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        try:
            return bool(version(self.distribution))
        except PackageNotFoundError:
            return False


def provide() -> None:
    """A tracer provider that exports to the endpoint of the environment, as a program sets it up for itself."""
    provider = TracerProvider(resource=Resource.create({"service.name": "agent"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _switch_on(*places: tuple[str, str]) -> None:
    """Instrument by official-style instrumentors; one that cannot cope with this SDK says so and is left out."""
    for module, name in places:
        try:
            getattr(importlib.import_module(module), name)().instrument()
        except Exception:
            logging.getLogger("neighbours").exception("%s does not work here", module)


def _official() -> None:
    _switch_on(("opentelemetry.instrumentation.genai.openai", "OpenAIInstrumentor"))


def _openllmetry() -> None:
    _switch_on(
        ("opentelemetry.instrumentation.openai", "OpenAIInstrumentor"),
        ("opentelemetry.instrumentation.mcp", "McpInstrumentor"),
    )


def _openinference() -> None:
    _switch_on(
        ("openinference.instrumentation.openai", "OpenAIInstrumentor"),
        ("openinference.instrumentation.mcp", "MCPInstrumentor"),
    )


def _logfire() -> None:
    logfire: Any = importlib.import_module("logfire")
    logfire.configure(send_to_logfire=False, console=False, service_name="agent", distributed_tracing=True)
    logfire.instrument_openai()
    logfire.instrument_mcp()


def _openlit() -> None:
    openlit: Any = importlib.import_module("openlit")
    # Its price list would be fetched from the internet.
    openlit.init(application_name="agent", pricing_json=os.devnull, disable_metrics=True)


def _handmade() -> None:
    importlib.import_module("tests.matrix.beside.handmade").start()


AUTO = "auto"

ALL: Mapping[str, Neighbour] = {
    "official": Neighbour(
        "opentelemetry-instrumentation-genai-openai",
        _official,
        ("opentelemetry.instrumentation.genai",),
        entry_points=True,
    ),
    "openllmetry": Neighbour(
        "opentelemetry-instrumentation-openai",
        _openllmetry,
        ("opentelemetry.instrumentation.openai", "opentelemetry.instrumentation.mcp"),
        entry_points=True,
    ),
    "openinference": Neighbour(
        "openinference-instrumentation-openai", _openinference, ("openinference",), entry_points=True
    ),
    "logfire": Neighbour("logfire", _logfire, ("logfire",), own_provider=True),
    "openlit": Neighbour("openlit", _openlit, ("openlit",), own_provider=True),
    "handmade": Neighbour("opentelemetry-sdk", _handmade, ("handmade",)),
}


def command(arm: str) -> list[str]:
    """What runs a module in an arm: Python, or what instruments every program before it begins."""
    if not arm.startswith(AUTO):
        return [sys.executable, "-m"]
    return [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable, "-m"]


def settings(arm: str) -> dict[str, str]:
    """The environment variables of an arm."""
    found = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    if arm == f"{AUTO}-alone":
        found["OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"] = "spanwise-mcp,spanwise-openai"
    return found if arm.startswith(AUTO) else {}


def set_up(neighbour: str, arm: str) -> None:
    """Instrument this process, unless that has been done: the neighbour and ours, in the order that the arm names."""
    if arm.startswith(AUTO):
        return
    other = ALL[neighbour]
    if not other.own_provider:
        provide()
    for start in {"alone": [other.start], "first": [other.start, _ours], "last": [_ours, other.start]}[arm]:
        start()


def _ours() -> None:
    import spanwise

    spanwise.instrument("agent")
