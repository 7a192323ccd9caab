"""One conversation asked for over HTTP, from spans that no code of ours has touched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, set_span_in_context

N0 = 1_700_000_000_000_000_000
MS = 1_000_000


def send_plain(endpoint: str, conversation_id: str) -> None:
    """Five spans of the plain SDK: an agent, two model calls, a tool execution and its MCP request."""
    provider = TracerProvider(resource=Resource({"service.name": "plain-agent"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
    tracer = provider.get_tracer("agent")
    chat = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4.1-mini"}
    first = {
        **chat,
        "gen_ai.response.time_to_first_chunk": 0.3,
        "gen_ai.usage.input_tokens": 900,
        "gen_ai.usage.output_tokens": 20,
    }
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "support",
        "gen_ai.conversation.id": conversation_id,
    }
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_order"}
    call = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "get_order", "server.address": "orders.example"}
    root = tracer.start_span("invoke_agent support", attributes=agent, start_time=N0)
    below = set_span_in_context(root)

    def child(span: tuple[str, SpanKind, dict[str, Any]], start: int, end: int, context: Any = below) -> Any:
        made = tracer.start_span(span[0], context, *span[1:], start_time=N0 + start * MS)
        made.end(N0 + end * MS)
        return made

    child(("chat gpt-4.1-mini", SpanKind.CLIENT, first), 10, 710)
    run = child(("execute_tool get_order", SpanKind.INTERNAL, tool), 720, 1220)
    child(("tools/call get_order", SpanKind.CLIENT, call), 730, 1210, set_span_in_context(run))
    child(("chat gpt-4.1-mini", SpanKind.CLIENT, chat), 1230, 1630)
    root.end(N0 + 1640 * MS)
    provider.shutdown()


@pytest.fixture(scope="module")
def said(server: Any) -> Any:
    """The answer on the plain conversation."""
    send_plain(server.addresses["otlp_http"], "plain/1")
    return server.get("/api/v1/conversations/plain%2F1").json


def test_five_plain_spans_are_tiled_into_the_stages_they_show(said: Any) -> None:
    expected = {
        "model.first_token": 300.0,
        "model.generate": 400.0,
        "model.call": 400.0,
        "mcp.opaque": 480.0,
        "agent.overhead": 60.0,
    }
    assert expected == {row["stage"]: row["ms"] for row in said["stages"]}


def test_the_answer_names_what_it_is_about(said: Any) -> None:
    expected = ("plain/1", "plain-agent", "support", "2023-11-14T22:13:20.000000000Z", "ok", 1640.0, 0.0, 0.0)
    keys = ("conversation_id", "service", "agent", "started_at", "status", "active_ms", "idle_ms", "wait_ms")
    assert expected == tuple(said[key] for key in keys)


def test_the_long_pole_is_the_largest_stage(said: Any) -> None:
    assert said["dominant"] == {"stage": "mcp.opaque", "group": "tools", "ms": 480.0, "share": 480 / 1640}


def test_stages_come_largest_first_and_sum_to_the_active_time_in_whole_ns(said: Any) -> None:
    spent = [round(row["ms"] * MS) for row in said["stages"]]
    assert sorted(spent, reverse=True) == spent
    assert round(said["active_ms"] * MS) == sum(spent)


def test_turns_and_traces_are_named(said: Any) -> None:
    (turn,) = said["turns"]
    assert (turn["turn"], turn["offset_ms"], turn["active_ms"]) == (1, 0.0, 1640.0)
    assert [turn["trace_id"]] == said["traces"]


def test_reported_tokens_are_billed_and_unreported_ones_stay_unknown(said: Any) -> None:
    assert (said["tokens"]["input"], said["tokens"]["cached"], said["tokens"]["output"]) == (900, None, 20)


def test_the_timeline_tiles_the_conversation_without_gap_or_overlap(server: Any, said: Any) -> None:
    found = server.get("/api/v1/conversations/plain%2F1/timeline").json
    edges = [(segment["start_ms"], segment["end_ms"]) for segment in found["segments"]]
    assert [0.0, *(end for _, end in edges[:-1])] == [start for start, _ in edges]
    assert said["active_ms"] == edges[-1][1] == found["duration_ms"]
    assert {True} == {segment["critical"] for segment in found["segments"]}


def test_reading_twice_gives_the_same_bytes(server: Any, said: Any) -> None:
    path = "/api/v1/conversations/plain%2F1"
    assert server.get(path).body == server.get(path).body


def test_a_late_span_reopens_the_conversation(server: Any, conversation: Callable[..., Any]) -> None:
    server.send(conversation("late", "1a7e"))
    before = server.get("/api/v1/conversations/late").json
    later = SpanMessage(
        trace_id=bytes.fromhex("1a7e".zfill(32)),
        span_id=b"12345678",
        parent_span_id=bytes.fromhex("3".zfill(16)),
        name="tools/call lookup",
        kind=SpanMessage.SPAN_KIND_SERVER,
        start_time_unix_nano=N0 + 750 * MS,
        end_time_unix_nano=N0 + 900 * MS,
        attributes=[KeyValue(key="mcp.method.name", value=AnyValue(string_value="tools/call"))],
    )
    orders = ResourceMessage(attributes=[KeyValue(key="service.name", value=AnyValue(string_value="orders"))])
    server.send(ResourceSpans(resource=orders, scope_spans=[ScopeSpans(spans=[later])]))
    after = server.get("/api/v1/conversations/late").json
    assert _stage(before, "mcp.opaque") == 250.0
    assert (_stage(after, "mcp.server"), _stage(after, "mcp.transport")) == (150.0, 100.0)


def test_answers_do_not_depend_on_the_time_zone(
    start: Callable[..., Any], server: Any, tmp_path: Path, said: Any
) -> None:
    elsewhere = start(tmp_path / "spans.duckdb", TZ="Asia/Kolkata")
    send_plain(elsewhere.addresses["otlp_http"], "plain/1")
    there = elsewhere.get("/api/v1/conversations/plain%2F1").json
    assert _without_ids(said) == _without_ids(there)
    listed = elsewhere.get("/api/v1/conversations?since=2023-11-14T22:13:20Z&until=2023-11-14T22:13:21Z").json
    assert [row["started_at"] for row in listed["conversations"]] == ["2023-11-14T22:13:20.000000000Z"]
    assert elsewhere.end() == 0


def _stage(said: Any, stage: str) -> float:
    return sum(float(row["ms"]) for row in said["stages"] if row["stage"] == stage)


def _without_ids(said: Any) -> Any:
    """Trace ids are random, so they differ between two sends."""
    kept = {key: value for key, value in said.items() if key not in {"traces", "turns", "recommendations", "problems"}}
    return kept | {"rules": [advice["rule"] for advice in said["recommendations"]]}
