"""Instrumentation as people write it for themselves: a span around each call, and the official HTTP instrumentors."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import wrapt
from opentelemetry import trace
from opentelemetry.instrumentation import httpx
from opentelemetry.trace import SpanKind, Tracer

SCOPE = "handmade"


def start() -> None:
    """Wrap what an agent calls."""
    tracer = trace.get_tracer(SCOPE)
    _wrap("openai.resources.chat.completions", "Completions.create", _model(tracer))
    _wrap("openai.resources.chat.completions", "AsyncCompletions.create", _async_model(tracer))
    _wrap("mcp.client.session", "ClientSession.call_tool", _tool(tracer))
    for library, instrumentor in (("httpx", "HTTPXClientInstrumentor"), ("httpx2", "HTTPX2ClientInstrumentor")):
        if find_spec(library) is not None:
            getattr(httpx, instrumentor)().instrument()


def _wrap(module: str, name: str, wrapper: Callable[..., Any]) -> None:
    wrapt.wrap_function_wrapper(importlib.import_module(module), name, wrapper)


def _model(tracer: Tracer) -> Callable[..., Any]:
    def create(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
        with _call(tracer, kwargs) as span:
            answer = wrapped(*args, **kwargs)
            _usage(span, answer)
            return answer

    return create


def _async_model(tracer: Tracer) -> Callable[..., Any]:
    async def create(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
        with _call(tracer, kwargs) as span:
            answer = await wrapped(*args, **kwargs)
            _usage(span, answer)
            return answer

    return create


def _tool(tracer: Tracer) -> Callable[..., Any]:
    async def call(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
        name = args[0] if args else kwargs["name"]
        attributes = {"mcp.method.name": "tools/call", "gen_ai.tool.name": name}
        with tracer.start_as_current_span(f"tools/call {name}", kind=SpanKind.CLIENT, attributes=attributes):
            return await wrapped(*args, **kwargs)

    return call


def _call(tracer: Tracer, kwargs: dict[str, Any]) -> Any:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": kwargs["model"]}
    return tracer.start_as_current_span(f"chat {kwargs['model']}", kind=SpanKind.CLIENT, attributes=attributes)


def _usage(span: trace.Span, answer: Any) -> None:
    usage = getattr(answer, "usage", None)
    if usage is not None:
        span.set_attribute("gen_ai.usage.prompt_tokens", usage.prompt_tokens)
        span.set_attribute("gen_ai.usage.completion_tokens", usage.completion_tokens)
