"""Switching on and off: what is patched, what is put back, whose provider is used, and where spans go."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from typing import Any

import httpx2
import openai
import pytest
from openai._base_client import AsyncAPIClient, SyncAPIClient
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.instrumentation.model import ModelServer, Reply, completion

import spanwise
from spanwise import semconv
from spanwise.endpoint import Endpoint, endpoint
from spanwise.instrumentor import MCPInstrumentor, OpenAIInstrumentor
from spanwise.process import resource

SEAMS = [
    (SyncAPIClient, "request"),
    (AsyncAPIClient, "request"),
    (SyncAPIClient, "_send_request"),
    (AsyncAPIClient, "_send_request"),
    (openai.Stream, "__stream__"),
    (openai.AsyncStream, "__stream__"),
    (httpx2.HTTPTransport, "handle_request"),
    (httpx2.AsyncHTTPTransport, "handle_async_request"),
    (ThreadPoolExecutor, "submit"),
]


@pytest.fixture
def clean() -> Iterator[None]:
    spanwise.uninstrument()
    yield
    spanwise.uninstrument()


def functions() -> list[object]:
    return [vars(owner)[name] for owner, name in SEAMS]


def in_memory() -> tuple[TracerProvider, InMemorySpanExporter]:
    memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    return provider, memory


def call(model: ModelServer) -> None:
    model.replies = [Reply(completion())]
    with openai.OpenAI(base_url=model.url, api_key="k") as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])


def run(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """``code`` in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-c", code], env=kept | environ, capture_output=True, text=True, timeout=60, check=False
    )


def test_instrumenting_twice_makes_one_span_and_uninstrumenting_restores_the_very_objects(
    clean: None, model: ModelServer
) -> None:
    """D-12."""
    before = functions()
    provider, memory = in_memory()
    spanwise.instrument(tracer_provider=provider)
    spanwise.instrument(tracer_provider=provider)
    assert not [1 for old, new in zip(before, functions(), strict=True) if old is new]
    call(model)
    names = [span.name for span in memory.get_finished_spans()]
    assert sorted(names) == ["POST", "chat m"]
    spanwise.uninstrument()
    assert all(old is new for old, new in zip(before, functions(), strict=True))
    memory.clear()
    call(model)
    assert memory.get_finished_spans() == ()


def test_it_can_be_switched_on_again(clean: None, model: ModelServer) -> None:
    provider, memory = in_memory()
    for _ in range(3):
        spanwise.instrument(tracer_provider=provider)
        spanwise.uninstrument()
    spanwise.instrument(tracer_provider=provider)
    with spanwise.conversation("again"):
        call(model)
    (span,) = [span for span in memory.get_finished_spans() if span.name == "chat m"]
    assert dict(span.attributes or {})[semconv.GEN_AI_CONVERSATION_ID] == "again"


def test_a_wrapper_that_others_put_over_ours_stays(clean: None, model: ModelServer) -> None:
    provider, memory = in_memory()
    spanwise.instrument(tracer_provider=provider)
    ours = SyncAPIClient.request

    def theirs(self: Any, *args: Any, **kwargs: Any) -> Any:
        return ours(self, *args, **kwargs)

    original = ours.__wrapped__  # type: ignore[attr-defined] # functools.wraps leaves it
    SyncAPIClient.request = theirs  # type: ignore[method-assign] # what another instrumentation does
    try:
        spanwise.uninstrument()
        assert vars(SyncAPIClient)["request"] is theirs
        call(model)
        assert memory.get_finished_spans() == ()
    finally:
        SyncAPIClient.request = ours  # type: ignore[method-assign] # as above
        spanwise.instrument(tracer_provider=provider)
        spanwise.uninstrument()
    assert vars(SyncAPIClient)["request"] is original


def test_the_standard_entry_points_do_the_same_with_the_provider_they_are_given(
    clean: None, model: ModelServer
) -> None:
    provider, memory = in_memory()
    instrumentor = OpenAIInstrumentor()
    before = functions()
    instrumentor.instrument(tracer_provider=provider)
    try:
        with spanwise.conversation("entry"):
            call(model)
    finally:
        instrumentor.uninstrument()
    (span,) = memory.get_finished_spans()
    assert (span.name, dict(span.attributes or {})[semconv.GEN_AI_CONVERSATION_ID]) == ("chat m", "entry")
    assert all(old is new for old, new in zip(before, functions(), strict=True))


def test_entry_points_are_declared_under_their_public_names() -> None:
    found = {point.name: point.load() for point in entry_points(group="opentelemetry_instrumentor")}
    assert (found["spanwise-openai"], found["spanwise-mcp"]) == (OpenAIInstrumentor, MCPInstrumentor)


def test_no_variable_is_left_behind(clean: None) -> None:
    before = dict(os.environ)
    provider, _ = in_memory()
    spanwise.instrument(tracer_provider=provider)
    assert dict(os.environ) == before


def test_what_was_switched_off_is_not_patched(clean: None) -> None:
    before = functions()
    provider, _ = in_memory()
    spanwise.instrument(tracer_provider=provider, openai=False, httpx=False, mcp=False)
    same = [old is new for old, new in zip(before, functions(), strict=True)]
    assert same == [True] * 8 + [False]


def test_a_provider_of_the_program_is_kept_and_gets_no_exporter_of_ours() -> None:
    code = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
mine = TracerProvider()
trace.set_tracer_provider(mine)
import spanwise
spanwise.instrument()
print(trace.get_tracer_provider() is mine, [p._outlets for p in mine._active_span_processor._span_processors])
spanwise.uninstrument()
spanwise.instrument(endpoint="http://127.0.0.1:9")
print([len(p._outlets) for p in mine._active_span_processor._span_processors])
"""
    assert run(code).stdout.splitlines() == ["True [()]", "[1]"]


def test_an_exporter_to_the_same_place_is_not_doubled() -> None:
    code = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
mine = TracerProvider()
mine.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(mine)
import spanwise
spanwise.instrument()
print(mine._active_span_processor._span_processors[-1]._outlets)
"""
    assert run(code, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9").stdout.strip() == "()"


def test_a_disabled_sdk_patches_nothing() -> None:
    code = """
import openai._base_client as base
before = base.SyncAPIClient.request
import spanwise
spanwise.instrument()
with spanwise.conversation("c"), spanwise.turn(), spanwise.step("s") as step:
    step.output(x=1)
    spanwise.outcome(passed=True)
print(base.SyncAPIClient.request is before)
"""
    assert run(code, OTEL_SDK_DISABLED="true").stdout.strip() == "True"


def test_marks_work_without_instrumentation(clean: None) -> None:
    with spanwise.conversation("c"), spanwise.turn() as turn, spanwise.step("s") as step:
        step.output(x=1)
        spanwise.outcome(passed=True)
    assert turn.span is not None
    assert not turn.span.is_recording()
    assert not trace.get_current_span().is_recording()


def test_importing_the_package_loads_neither_sdk_nor_libraries() -> None:
    code = """
import sys, spanwise
print([name for name in ("opentelemetry", "openai", "mcp", "httpx2", "pydantic", "wrapt") if name in sys.modules])
spanwise.instrument()
print([name for name in ("openai", "mcp", "httpx", "httpx2", "pydantic", "grpc", "duckdb") if name in sys.modules])
"""
    environ = {"OTEL_TRACES_EXPORTER": "none"}
    assert run(code, **environ).stdout.splitlines() == ["[]", "[]"]


def test_a_library_imported_later_is_instrumented_all_the_same() -> None:
    code = """
import spanwise
spanwise.instrument()
import openai._base_client as base
print("spanwise" in base.SyncAPIClient.request.__code__.co_filename)
spanwise.uninstrument()
print("spanwise" in base.SyncAPIClient.request.__code__.co_filename)
"""
    assert run(code, OTEL_TRACES_EXPORTER="none").stdout.splitlines() == ["True", "False"]


HTTP = "http/protobuf"


@pytest.mark.parametrize(
    ("argument", "environ", "expected"),
    [
        (None, {}, Endpoint(HTTP, "http://127.0.0.1:4318/v1/traces", chosen=False)),
        ("http://c:4318", {}, Endpoint(HTTP, "http://c:4318/v1/traces", chosen=True)),
        ("http://c:4318/", {}, Endpoint(HTTP, "http://c:4318/v1/traces", chosen=True)),
        ("http://c/otlp/v1/traces", {}, Endpoint(HTTP, "http://c/otlp/v1/traces", chosen=True)),
        (
            None,
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/otlp/"},
            Endpoint(HTTP, "http://c:4318/otlp/v1/traces", chosen=True),
        ),
        (None, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/x"}, Endpoint(HTTP, "http://c/x", chosen=True)),
        (None, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, Endpoint("grpc", "http://127.0.0.1:4317", chosen=False)),
        (
            "http://c:4317",
            {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"},
            Endpoint("grpc", "http://c:4317", chosen=True),
        ),
        (None, {"OTEL_TRACES_EXPORTER": "none"}, None),
    ],
)
def test_arguments_win_over_variables_and_variables_over_the_default(
    argument: str | None, environ: dict[str, str], expected: Endpoint | None
) -> None:
    assert endpoint(argument, environ) == expected


def test_the_resource_names_service_host_and_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=mine,team=blue")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "from-variable")
    found = resource().attributes
    assert (found[semconv.SERVICE_NAME], found[semconv.SERVICE_INSTANCE_ID]) == ("from-variable", "mine")
    assert (found["team"], found[semconv.PROCESS_PID]) == ("blue", os.getpid())
    assert found[semconv.HOST_NAME]
    assert resource("argument").attributes[semconv.SERVICE_NAME] == "argument"
