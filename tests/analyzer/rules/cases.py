"""Conversations for tests of the rules: what each kind of span carries, and a well-built agent to start from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tests.analyzer.core.scene import CONVERSATION, MS, agent, chat, key, mcp, served, span, tool

from spanwise import semconv
from spanwise_analyzer.account import account
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.rules.facts.norms import Norms
from spanwise_analyzer.rules.finding import Finding
from spanwise_analyzer.rules.guide import recommend
from spanwise_collector.span import Kind, Span, Value

KEY = {semconv.HASH_KEY_ID: "k1"}
READ = {semconv.TOOL_READ_ONLY: True, semconv.TOOL_IDEMPOTENT: True}
USER = {semconv.REQUEST_LEAVES: ["u-order", "u-customer"], **KEY}


def ledger(spans: Iterable[Span]) -> Ledger:
    """The account of these spans."""
    return account(CONVERSATION, spans)


def rules(spans: Iterable[Span], norms: Norms | None = None) -> list[str]:
    """Ids of the recommendations, first to last."""
    return [finding.rule for finding in recommend(ledger(spans), norms).findings]


def found(rule: str, spans: Iterable[Span], norms: Norms | None = None) -> Finding | None:
    """The finding of one rule, None where it is silent."""
    return next((each for each in recommend(ledger(spans), norms).findings if each.rule == rule), None)


def expected_ms(finding: Finding | None) -> float:
    """Expected saving in ms; fails without one."""
    assert finding is not None
    assert finding.saving is not None
    return finding.saving.expected_ns / MS


def bounds_ms(finding: Finding | None) -> tuple[float, float]:
    """Lower and upper bound in ms; fails without a saving."""
    assert finding is not None
    assert finding.saving is not None
    return finding.saving.low_ns / MS, finding.saving.high_ns / MS


def shown(finding: Finding | None) -> list[tuple[str, str]]:
    """Keys of the evidence; fails without a finding."""
    assert finding is not None
    return [each.span for each in finding.evidence]


def keys(*names: str) -> list[tuple[str, str]]:
    """Keys of the spans of these names."""
    return [key(name) for name in names]


def turn(end: float, **attributes: Value) -> Span:
    """The agent's run that holds the conversation; judged to be right."""
    return agent("turn", 0, end, attributes={semconv.QUALITY_PASSED: True, **attributes})


def model(
    name: str,
    start: float,
    end: float,
    extra: Mapping[str, Value] | None = None,
    *,
    tokens: tuple[int, int] = (500, 40),
    **rest: Any,
) -> Span:
    """A model call under the turn with usage; ``tokens`` are input and output."""
    usage = {semconv.GEN_AI_USAGE_INPUT_TOKENS: tokens[0], semconv.GEN_AI_USAGE_OUTPUT_TOKENS: tokens[1]}
    known = {semconv.GEN_AI_REQUEST_MODEL: "m", semconv.GEN_AI_PROVIDER_NAME: "openai", semconv.SERVER_ADDRESS: "h"}
    under = rest.pop("under", "turn")
    return chat(name, start, end, under, attributes={**known, **usage, **KEY, **(extra or {})}, **rest)


def asking(count: int, *names: str) -> Mapping[str, Value]:
    """What a response carries that asks for tools."""
    return {semconv.TOOL_CALLS_IN_RESPONSE: count, semconv.TOOL_CALL_NAMES: list(names), **USER}


def function(
    name: str, start: float, end: float, extra: Mapping[str, Value] | None = None, *, tool_name: str = ""
) -> Span:
    """An application function under the turn."""
    said = {semconv.GEN_AI_TOOL_NAME: tool_name or name, **KEY, **READ, **(extra or {})}
    return tool(name, start, end, "turn", attributes=said)


def remote(
    name: str, start: float, end: float, extra: Mapping[str, Value] | None = None, *, own: float = 0
) -> list[Span]:
    """A tools/call to the server "orders" whose own work takes ``own`` ms in the middle; 0 leaves the server unseen."""
    known = {semconv.GEN_AI_TOOL_NAME: name, semconv.MCP_SERVER_NAME: "orders", **KEY, **READ}
    way = (end - start - own) / 2
    work = [served(f"{name}-served", start + way, end - way, name)] if own else []
    return [mcp(name, start, end, "turn", attributes={**known, **(extra or {})}), *work]


def session(
    name: str, start: float, *, took: tuple[float, float, float] = (100, 100, 50), under: str = "turn"
) -> list[Span]:
    """One set-up of the server "orders": connect, initialize, tools/list, one after the other."""
    said = {semconv.MCP_SERVER_NAME: "orders", semconv.MCP_CONNECTION_ID: name}
    opened, greeted, listed = (start + sum(took[:step]) for step in (1, 2, 3))
    connect = span(f"{name}-connect", start, opened, under, said, kind=Kind.CLIENT)
    return [
        replace(connect, name="mcp.connect orders"),
        mcp(f"{name}-init", opened, greeted, under, method="initialize", attributes=said),
        listing(f"{name}-list", greeted, listed, connection=name, under=under),
    ]


def listing(name: str, start: float, end: float, *, connection: str, under: str = "turn") -> Span:
    """A tools/list of one connection."""
    known = {semconv.MCP_SERVER_NAME: "orders", semconv.MCP_CONNECTION_ID: connection}
    hashes = {semconv.TOOLS_NAMES_HASH: "n1", semconv.TOOLS_ORDER_HASH: "o1", **KEY}
    return mcp(name, start, end, under, method="tools/list", attributes={**known, **hashes})


def altered(found: Span, changes: Mapping[str, Value]) -> Span:
    """The span with attributes added; those given as None are taken away."""
    kept = {name: value for name, value in {**found.attributes, **changes}.items() if value is not None}
    return replace(found, attributes=kept)
