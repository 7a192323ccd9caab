from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from spanwise import semconv as sc
from spanwise_collector.store import Store


@pytest.mark.parametrize("transport", ["none", "gzip", "deflate", "grpc"])
def test_what_a_plain_sdk_sends_is_what_is_read(front: Any, store: Store, transport: str) -> None:
    bound = front.bound
    exporter: SpanExporter
    if transport == "grpc":
        exporter = GrpcExporter(f"http://{bound.grpc}", insecure=True)
    else:
        exporter = HttpExporter(f"{bound.http}/v1/traces", compression=Compression(transport))
    provider = TracerProvider(resource=Resource({sc.SERVICE_NAME: "shop"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("agent", "1.2")
    agent = tracer.start_as_current_span("invoke_agent a", attributes={sc.GEN_AI_CONVERSATION_ID: "c-1"})
    with agent, tracer.start_as_current_span("chat m") as chat:
        chat.set_attributes({sc.GEN_AI_OPERATION_NAME: "chat", sc.GEN_AI_RESPONSE_FINISH_REASONS: ["stop"]})
        chat.add_event("first", {"n": 1})
    assert provider.force_flush(10_000)
    provider.shutdown()
    spans = {each.name: each for each in store.reader().spans("c-1")}
    assert {"invoke_agent a", "chat m"} == set(spans)
    call = spans["chat m"]
    assert spans["invoke_agent a"].span_id == call.parent_id
    assert (call.service, call.scope, call.scope_version) == ("shop", "agent", "1.2")
    assert call.texts(sc.GEN_AI_RESPONSE_FINISH_REASONS) == ("stop",)
    assert [(event.name, event.attributes) for event in call.events] == [("first", {"n": 1})]
