"""Instrumentors of an agent, each switched on and used as its own documentation says."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

Function = Callable[..., Any]
AGENT = "clerk"


@dataclass(frozen=True, slots=True)
class Tracer:
    """One instrumentor: what has to be installed, how it starts, and what a program writes around turns and tools."""

    distributions: tuple[str, ...]
    start: Callable[[str], None]
    turn: Callable[[str], Any]  # of a conversation
    tool: Callable[[Function], Function] = lambda function: function
    own_provider: bool = False

    @property
    def installed(self) -> bool:
        """Whether all of it is there."""
        return all(map(_version, self.distributions))


def set_up(names: Sequence[str], service: str) -> None:
    """Switch these on in this process, in this order; without any nothing is traced."""
    chosen = [ALL[name] for name in names]
    if chosen and not any(tracer.own_provider for tracer in chosen):
        _provide(service)
    for tracer in chosen:
        tracer.start(service)


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _provide(service: str) -> None:
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _switch_on(*places: tuple[str, str]) -> None:
    for module, name in places:
        getattr(importlib.import_module(module), name)().instrument()


@contextmanager
def _plain_turn(conversation: str) -> Iterator[None]:
    with trace.get_tracer("program").start_as_current_span("answer a question"):
        yield


def _nothing(service: str) -> None:
    """The MCP SDK traces itself where there is a provider."""


def _ours(service: str) -> None:
    import spanwise

    spanwise.instrument(service_name=service, endpoint=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])


@contextmanager
def _our_turn(conversation: str) -> Iterator[None]:
    import spanwise

    with spanwise.conversation(conversation), spanwise.turn(agent=AGENT):
        yield


def _our_tool(function: Function) -> Function:
    import spanwise

    return spanwise.tool(function)


def _official(service: str) -> None:
    _switch_on(("opentelemetry.instrumentation.genai.openai", "OpenAIInstrumentor"))


def _openllmetry(service: str) -> None:
    sdk: Any = importlib.import_module("traceloop.sdk").Traceloop
    with redirect_stdout(sys.stderr):  # it prints a line, which a server over stdio must not
        sdk.init(app_name=service, exporter=OTLPSpanExporter(), telemetry_enabled=False)


@contextmanager
def _openllmetry_turn(conversation: str) -> Iterator[None]:
    # What the SDK's decorator for workflows does around a function, as a block.
    sdk: Any = importlib.import_module("traceloop.sdk").Traceloop
    tracing: Any = importlib.import_module("traceloop.sdk.tracing.tracing")
    kinds: Any = importlib.import_module("opentelemetry.semconv_ai")
    sdk.set_association_properties({"session_id": conversation})
    tracing.set_workflow_name(AGENT)
    attributes = {
        kinds.SpanAttributes.TRACELOOP_SPAN_KIND: kinds.TraceloopSpanKindValues.WORKFLOW.value,
        kinds.SpanAttributes.TRACELOOP_ENTITY_NAME: AGENT,
    }
    with trace.get_tracer("traceloop.tracer").start_as_current_span(f"{AGENT}.workflow", attributes=attributes):
        yield


def _openllmetry_tool(function: Function) -> Function:
    decorators: Any = importlib.import_module("traceloop.sdk.decorators")
    return decorators.tool(name=function.__name__)(function)  # type: ignore[no-any-return]


def _openinference(service: str) -> None:
    _switch_on(
        ("openinference.instrumentation.openai", "OpenAIInstrumentor"),
        ("openinference.instrumentation.mcp", "MCPInstrumentor"),
    )


def _openinference_tracer() -> Any:
    library: Any = importlib.import_module("openinference.instrumentation")
    return library.OITracer(trace.get_tracer("program"), config=library.TraceConfig())


@contextmanager
def _openinference_turn(conversation: str) -> Iterator[None]:
    library: Any = importlib.import_module("openinference.instrumentation")
    tracer = _openinference_tracer()
    with (
        library.using_session(conversation),
        tracer.start_as_current_span(AGENT, openinference_span_kind="agent"),
    ):
        yield


def _openinference_tool(function: Function) -> Function:
    return _openinference_tracer().tool(function)  # type: ignore[no-any-return]


def _logfire(service: str) -> None:
    logfire: Any = importlib.import_module("logfire")
    logfire.configure(send_to_logfire=False, console=False, service_name=service, distributed_tracing=True)
    logfire.instrument_openai()
    logfire.instrument_mcp()


@contextmanager
def _logfire_turn(conversation: str) -> Iterator[None]:
    logfire: Any = importlib.import_module("logfire")
    with logfire.span("answer a question"):
        yield


def _logfire_tool(function: Function) -> Function:
    logfire: Any = importlib.import_module("logfire")
    return logfire.instrument(function.__name__)(function)  # type: ignore[no-any-return]


def _openlit(service: str) -> None:
    openlit: Any = importlib.import_module("openlit")
    # Its price list would be fetched from the internet.
    openlit.init(application_name=service, pricing_json=os.devnull, disable_metrics=True)


@contextmanager
def _openlit_turn(conversation: str) -> Iterator[None]:
    openlit: Any = importlib.import_module("openlit")
    with openlit.start_trace(name="answer a question"):
        yield


def _openlit_tool(function: Function) -> Function:
    return importlib.import_module("openlit").trace(function)  # type: ignore[no-any-return]


def _langfuse(service: str) -> None:
    os.environ["OTEL_SERVICE_NAME"] = service
    client: Any = importlib.import_module("langfuse").Langfuse
    client(public_key="pk", secret_key="sk", base_url=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])  # noqa: S106 - for a sink
    importlib.import_module("langfuse.openai")  # it instruments the SDK when it is loaded


@contextmanager
def _langfuse_turn(conversation: str) -> Iterator[None]:
    langfuse: Any = importlib.import_module("langfuse")
    with ExitStack() as stack:
        client = langfuse.get_client()
        stack.enter_context(client.start_as_current_observation(name=AGENT, as_type="agent"))
        stack.enter_context(langfuse.propagate_attributes(session_id=conversation))
        yield


def _langfuse_tool(function: Function) -> Function:
    langfuse: Any = importlib.import_module("langfuse")
    return langfuse.observe(function, as_type="tool")  # type: ignore[no-any-return]


ALL: Mapping[str, Tracer] = {
    "ours": Tracer(("spanwise",), _ours, _our_turn, _our_tool),
    "native": Tracer(("mcp",), _nothing, _plain_turn),
    "official": Tracer(("opentelemetry-instrumentation-genai-openai",), _official, _plain_turn),
    "openllmetry": Tracer(("traceloop-sdk",), _openllmetry, _openllmetry_turn, _openllmetry_tool, own_provider=True),
    "openinference": Tracer(
        ("openinference-instrumentation-openai", "openinference-instrumentation-mcp"),
        _openinference,
        _openinference_turn,
        _openinference_tool,
    ),
    "logfire": Tracer(("logfire",), _logfire, _logfire_turn, _logfire_tool, own_provider=True),
    "openlit": Tracer(("openlit",), _openlit, _openlit_turn, _openlit_tool, own_provider=True),
    "langfuse": Tracer(("langfuse",), _langfuse, _langfuse_turn, _langfuse_tool, own_provider=True),
}
