"""A program that switches the instrumentation on in one of several ways, works, and tells which spans came of it."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import mcp
import openai
from mcp.client.stdio import StdioServerParameters
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from tests.matrix.beside import calls, model, tools

import spanwise

Report = dict[str, Any]


def twice() -> Report:
    """Switched on two times, then off."""
    provider, memory = _provider()
    trace.set_tracer_provider(provider)
    before = _functions()
    spanwise.instrument()
    spanwise.instrument()
    with _looking_at(memory) as found:
        work()
    spanwise.uninstrument()
    memory.clear()
    same = [one is other for one, other in zip(before, _functions(), strict=True)]
    work()
    left = [span for span in memory.get_finished_spans() if _scope(span) not in {"agent", "mcp-python-sdk"}]
    return {"counts": found, "restored": all(same), "left": len(left)}


def provider_first() -> Report:
    """The program has made a provider."""
    provider, memory = _provider()
    trace.set_tracer_provider(provider)
    spanwise.instrument()
    with _looking_at(memory) as found:
        work()
    return {"counts": found}


def provider_later() -> Report:
    """The program makes one when ours is there, which OpenTelemetry refuses."""
    memory, refused = InMemorySpanExporter(), _provider()
    spanwise.instrument(span_exporter=memory)
    logging.disable(logging.WARNING)
    trace.set_tracer_provider(refused[0])
    with _looking_at(memory, flush=True) as found:
        work()
    return {"counts": found, "left": len(refused[1].get_finished_spans())}


def provider_beside() -> Report:
    """The program has one of its own and gives us another."""
    (theirs, their_memory), (ours, our_memory) = _provider(), _provider()
    trace.set_tracer_provider(theirs)
    spanwise.instrument(tracer_provider=ours)
    with _looking_at(our_memory) as found:
        work()
    root = next(span for span in their_memory.get_finished_spans() if span.name == "invoke_agent support")
    traces = {span.context.trace_id for span in our_memory.get_finished_spans() if span.context and span.parent}
    strangers = [span.name for span in their_memory.get_finished_spans() if span.kind is SpanKind.CLIENT]
    connected = root.context is not None and {root.context.trace_id} == traces
    return {"counts": found, "left": len(strangers), "connected": connected}


def http() -> Report:
    """Model calls through each HTTP library that is there, and a plain request."""
    provider, memory = _provider()
    trace.set_tracer_provider(provider)
    spanwise.instrument()
    received: list[dict[str, str]] = []
    with model.serving(received) as url, trace.get_tracer("agent").start_as_current_span("invoke_agent support"):
        for library in _libraries():
            with _client(url, http_client=library.Client()) as client:
                client.chat.completions.create(model="m", messages=calls.MESSAGES)
            with library.Client() as plain:
                plain.get(url).raise_for_status()
    requests = [span for span in memory.get_finished_spans() if _is_http(span)]
    named = [request.get("traceparent", "").split("-")[2:3] for request in received]
    ids = [[f"{span.context.span_id:016x}"] for span in requests if span.context]
    return {"requests": len(received), "spans": len(requests), "named": sorted(named) == sorted(ids)}


def foreign_http() -> Report:
    """The program traces HTTP itself; a request leaves for a host that must not learn the conversation."""
    provider, memory = _provider()
    trace.set_tracer_provider(provider)
    official: Any = importlib.import_module("opentelemetry.instrumentation.httpx")
    for library in _libraries():
        getattr(
            official, {"httpx": "HTTPXClientInstrumentor"}.get(library.__name__, "HTTPX2ClientInstrumentor")
        )().instrument()
    spanwise.instrument()
    received: list[dict[str, str]] = []
    with model.serving(received) as url, spanwise.conversation("secret"):
        for library in _libraries():
            asyncio.run(_ask(library, url))
    told = ["secret" in request.get("baggage", "") for request in received]
    requests = [
        span for span in memory.get_finished_spans() if _is_http(span) or "http.method" in (span.attributes or {})
    ]
    return {
        "told": sorted(set(told[0::3])),
        "kept": sorted({*told[1::3], *told[2::3]}),
        "once": len(received) == len(requests),
    }


async def _ask(library: Any, url: str) -> None:
    """Once to the server itself, and twice through it as the proxy of a host elsewhere."""
    proxy = url.removesuffix("/v1")
    with library.Client() as direct, library.Client(proxy=proxy) as client:
        direct.get(url)
        client.get("http://elsewhere.invalid/")
    async with library.AsyncClient(proxy=proxy) as client:
        await client.get("http://elsewhere.invalid/")


def work() -> None:
    """One model call, one tool call over stdio, one plain HTTP request."""
    with model.serving() as url, trace.get_tracer("agent").start_as_current_span("invoke_agent support"):
        with _client(url) as client:
            client.chat.completions.create(model="m", messages=calls.MESSAGES)
        asyncio.run(_call_tool())
        with _libraries()[-1].Client() as plain:
            plain.get(url).raise_for_status()


async def _call_tool() -> None:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "tests.matrix.beside.plain"])
    async with tools.connect(parameters) as session:
        await session.call_tool("ok", {"order": "A-17"})


def _client(url: str, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key="key", base_url=url, max_retries=0, **options)


def _libraries() -> list[Any]:
    """The HTTP libraries that this openai accepts a client of; the one that it uses by itself last."""
    major = int(openai.__version__.partition(".")[0])
    names = ["httpx", "httpx2"] if major > 2 else ["httpx"]
    return [importlib.import_module(name) for name in names if find_spec(name)]


def _provider() -> tuple[TracerProvider, InMemorySpanExporter]:
    provider, memory = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    return provider, memory


@contextmanager
def _looking_at(memory: InMemorySpanExporter, *, flush: bool = False) -> Iterator[dict[str, int]]:
    """The block gets a mapping that holds, afterwards, how many spans there are of each kind."""
    found: dict[str, int] = {}
    yield found
    if flush:
        provider: Any = trace.get_tracer_provider()
        provider.force_flush()
    found.update(Counter(filter(None, map(_sort, memory.get_finished_spans()))))


def _sort(span: ReadableSpan) -> str | None:
    attributes = span.attributes or {}
    if span.kind is SpanKind.CLIENT and attributes.get("gen_ai.operation.name") == "chat":
        return "model"
    if span.kind is SpanKind.CLIENT and attributes.get("mcp.method.name") == "tools/call":
        return "tool"
    return "http" if _is_http(span) else None


def _is_http(span: ReadableSpan) -> bool:
    return span.kind is SpanKind.CLIENT and "http.request.method" in (span.attributes or {})


def _scope(span: ReadableSpan) -> str:
    return span.instrumentation_scope.name if span.instrumentation_scope else ""


def _functions() -> list[Any]:
    """What is replaced in the SDKs, among other things."""
    base: Any = importlib.import_module("openai._base_client")
    owners = [(base.SyncAPIClient, "request"), (openai.Stream, "__stream__"), (mcp.ClientSession, "call_tool")]
    owners += [(library.HTTPTransport, "handle_request") for library in _libraries()]
    return [vars(owner)[name] for owner, name in owners]


WAYS: dict[str, Callable[[], Report]] = {
    "twice": twice,
    "provider-first": provider_first,
    "provider-later": provider_later,
    "provider-beside": provider_beside,
    "http": http,
    "foreign-http": foreign_http,
}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(WAYS[sys.argv[1]]()))
