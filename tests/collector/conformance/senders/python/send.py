"""Sends the scenario through an exporter of OpenTelemetry for Python: send.py KIND ENDPOINT SCENARIO."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanKind, StatusCode

kind, endpoint, file = sys.argv[1:]
scenario = json.loads(Path(file).read_text(encoding="utf-8"))
exporter: Any = import_module(f"opentelemetry.exporter.otlp.{kind}.trace_exporter")
provider = TracerProvider(resource=Resource({"service.name": scenario["service"]}), shutdown_on_exit=False)
provider.add_span_processor(BatchSpanProcessor(exporter.OTLPSpanExporter(endpoint)))
tracer = provider.get_tracer(scenario["scope"], scenario["version"])
with tracer.start_as_current_span("invoke_agent a") as parent:
    links = [Link(parent.get_span_context(), scenario["link"]["attributes"])]
    child = tracer.start_span(scenario["name"], None, SpanKind.CLIENT, scenario["attributes"], links)
    child.add_event(scenario["event"]["name"], scenario["event"]["attributes"])
    child.set_status(StatusCode.ERROR, scenario["status"])
    child.end()
provider.shutdown()
sys.stdout.write(f"{parent.get_span_context().trace_id:032x}")
