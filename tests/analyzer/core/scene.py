"""Spans for tests, written as short as a drawing: a name is also the id, times are ms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.ledger import Ledger
from spanwise_collector.span import Kind, Link, Span, SpanKey, Value

MS = 1_000_000
CONVERSATION = "c"


def key(name: str, trace: str = "t") -> SpanKey:
    """Trace and span id of the span of that name."""
    return blake2b(trace.encode(), digest_size=16).hexdigest(), blake2b(name.encode(), digest_size=8).hexdigest()


def span(  # noqa: PLR0913  a span has many parts
    name: str,
    start: float,
    end: float,
    under: str = "",
    attributes: Mapping[str, Value] | None = None,
    *,
    trace: str = "t",
    links: Iterable[str] = (),
    **rest: Any,
) -> Span:
    """A span from ``start`` to ``end`` ms below the span named ``under``."""
    trace_id, span_id = key(name, trace)
    found = Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=key(under)[1] if under else "",
        name=name,
        start_ns=round(start * MS),
        end_ns=round(end * MS),
        attributes={semconv.GEN_AI_CONVERSATION_ID: CONVERSATION, **(attributes or {})},
        links=[Link(*key(other, trace)) for other in links],
    )
    return replace(found, **rest)


def agent(name: str, start: float, end: float, under: str = "", **rest: Any) -> Span:
    """An agent's run; at the top it is a turn."""
    return span(name, start, end, under, _operation(semconv.OPERATION_INVOKE_AGENT, rest), **rest)


def chat(name: str, start: float, end: float, under: str = "", *, first: float | None = None, **rest: Any) -> Span:
    """A model call, streamed if its ``first`` content is given in ms after its start."""
    rest.setdefault("kind", Kind.CLIENT)
    found = span(name, start, end, under, _operation(semconv.OPERATION_CHAT, rest), **rest)
    if first is None:
        return found
    return replace(found, attributes={**found.attributes, semconv.RESPONSE_TIME_TO_FIRST_CONTENT: first / 1000})


def tool(name: str, start: float, end: float, under: str = "", **rest: Any) -> Span:
    """A function that the application runs for the model."""
    return span(name, start, end, under, _operation(semconv.OPERATION_EXECUTE_TOOL, rest), **rest)


def mcp(name: str, start: float, end: float, under: str = "", *, method: str = "tools/call", **rest: Any) -> Span:
    """An MCP request, seen by its client unless ``kind`` says SERVER."""
    rest.setdefault("kind", Kind.CLIENT)
    attributes = {semconv.MCP_METHOD_NAME: method, **rest.pop("attributes", {})}
    return span(name, start, end, under, attributes, **rest)


def served(name: str, start: float, end: float, under: str = "", *, method: str = "tools/call", **rest: Any) -> Span:
    """The server's part of an MCP request."""
    return mcp(name, start, end, under, method=method, kind=Kind.SERVER, **rest)


def http(name: str, start: float, end: float, under: str = "", *, verb: str = "POST", **rest: Any) -> Span:
    """An HTTP request, seen by its client unless ``kind`` says SERVER."""
    rest.setdefault("kind", Kind.CLIENT)
    attributes = {semconv.HTTP_REQUEST_METHOD: verb, **rest.pop("attributes", {})}
    return span(name, start, end, under, attributes, **rest)


def database(name: str, start: float, end: float, under: str = "", **rest: Any) -> Span:
    """A query."""
    return span(name, start, end, under, {semconv.DB_SYSTEM_NAME: "sqlite"}, kind=Kind.CLIENT, **rest)


def stage_ms(ledger: Ledger) -> dict[Stage, float]:
    """Owned ms of every stage, the user's included."""
    found: dict[Stage, float] = {}
    for segment in ledger.segments:
        found[segment.stage] = found.get(segment.stage, 0) + segment.ns
    return {stage: ns / MS for stage, ns in found.items()}


def owned_ms(ledger: Ledger) -> dict[str, float]:
    """Owned ms by the name of the span."""
    return {ledger.tree.nodes[key].record.name: ns / MS for key, ns in ledger.owned.items()}


def codes(ledger: Ledger) -> list[str]:
    """The codes of all problems, sorted."""
    return sorted(problem.code for problem in ledger.problems)


def _operation(name: str, rest: dict[str, Any]) -> dict[str, Value]:
    return {semconv.GEN_AI_OPERATION_NAME: name, **(rest.pop("attributes", None) or {})}
