"""A server that the SDK starts as a process sends its spans where its client's go."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import get_default_environment
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwise
from spanwise import endpoint
from spanwise.mcp import child

SERVERS = Path(__file__).parent / "servers"
BASE, TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of telemetry but the test's own."""
    for name in [name for name in os.environ if name.startswith(("OTEL_", "SPANWISE_"))]:
        monkeypatch.delenv(name)


def tools(**env: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[str(SERVERS / "tools.py")], env=env or None)


@pytest.mark.parametrize("given", [{}, {"LANGUAGE": "en"}])
async def test_its_spans_arrive_by_the_clients_variables(
    exporter: InMemorySpanExporter, sink: Any, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    monkeypatch.setenv(BASE, sink.url)
    async with Client(tools(**given)) as client:
        await client.call_tool("ok")
    assert sink.wait_for("tools/call ok", "work")
    assert [span.name for span in exporter.get_finished_spans()].count("tools/call ok") == 1


async def test_its_spans_arrive_by_the_endpoint_that_the_program_named(provider: TracerProvider, sink: Any) -> None:
    spanwise.uninstrument()
    spanwise.instrument(endpoint=sink.url, tracer_provider=provider)
    try:
        async with Client(tools()) as client:
            await client.call_tool("ok")
    finally:
        spanwise.uninstrument()
    assert sink.wait_for("work")


async def environment_of_child(tmp_path: Path) -> dict[str, str]:
    """What a process that is started as a server gets; it writes that down and leaves."""
    written = tmp_path / "environment.json"
    code = f"import json, os; open({str(written)!r}, 'w').write(json.dumps(dict(os.environ)))"
    with pytest.raises(Exception):  # noqa: B017, PT011 - it is no server
        async with Client(StdioServerParameters(command=sys.executable, args=["-c", code])):
            pass
    found: dict[str, str] = json.loads(written.read_text())
    found.pop("LC_CTYPE", None)  # the interpreter sets it itself
    return found


async def test_it_gets_the_settings_and_nothing_else(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert exporter.get_finished_spans() == ()
    monkeypatch.delenv("SPANWISE_RAISE", raising=False)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "7")
    monkeypatch.setenv("SPANWISE_HASH_KEY", "key")
    monkeypatch.setenv("OTHER_SECRET", "x")
    ours = {"OTEL_BSP_SCHEDULE_DELAY": "7", "SPANWISE_HASH_KEY": "key"}
    assert await environment_of_child(tmp_path) == get_default_environment() | ours


async def test_without_us_it_gets_what_the_sdk_gives(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert exporter.get_finished_spans() == ()
    spanwise.uninstrument()
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "7")
    assert await environment_of_child(tmp_path) == get_default_environment()


def test_what_the_caller_gave_wins_and_names_and_credentials_stay_here() -> None:
    ours = {
        BASE: "http://ours",
        "OTEL_SERVICE_NAME": "agent",
        "OTEL_RESOURCE_ATTRIBUTES": "service.name=agent",
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=secret",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "api-key=secret",
        "SPANWISE_HASH_KEY": "key",
        "PATH": "/ours",
    }
    given = {BASE: "http://given", "PATH": "/given"}
    assert child.environment(given, ours) == {**given, "SPANWISE_HASH_KEY": "key"}


@pytest.mark.parametrize(
    ("named", "given", "expected"),
    [
        (None, {}, {}),
        ("http://c:4318", {}, {BASE: "http://c:4318"}),
        ("http://c:4318/", {}, {BASE: "http://c:4318/"}),
        ("http://c:4318/otlp/v1/traces", {}, {TRACES: "http://c:4318/otlp/v1/traces"}),
        ("http://c:4317", {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, {BASE: "http://c:4317"}),
        ("http://c:4318", {BASE: "http://given"}, {}),
        ("http://c:4318", {TRACES: "http://given"}, {}),
    ],
)
def test_the_named_endpoint_as_a_variable(named: str | None, given: dict[str, str], expected: dict[str, str]) -> None:
    endpoint.name(named)
    try:
        assert endpoint.variables(given) == expected
    finally:
        endpoint.name(None)
