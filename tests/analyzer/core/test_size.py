"""Large and deep conversations neither overflow nor take quadratic time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.analyzer.core.forests import TRACES, identifier

from spanwise import semconv
from spanwise_analyzer.account import account
from spanwise_analyzer.dimension import dimensions
from spanwise_analyzer.replay import drag_ns
from spanwise_collector.span import Span, Value

COUNT = 5_000
TOOL: dict[str, Value] = {semconv.GEN_AI_OPERATION_NAME: "execute_tool"}
CHAT: dict[str, Value] = {semconv.GEN_AI_OPERATION_NAME: "chat"}


def made(number: int, start: int, end: int, parent: str = "", said: dict[str, Value] | None = None) -> Span:
    return Span(TRACES[0], identifier(number), parent, "x", start, end, attributes=said or {})


def deep() -> list[Span]:
    return [made(n, 1 + n, 3 * COUNT - n, identifier(n - 1) if n else "") for n in range(COUNT)]


def apart() -> list[Span]:
    """A chain in which no span touches its parent."""
    return [made(n, 1 + 5 * n, 3 + 5 * n, identifier(n - 1) if n else "") for n in range(COUNT)]


def holed() -> list[Span]:
    """One long sibling with many children, and as many short siblings with holes between them."""
    spans = [made(0, 1, 20 * COUNT), made(1, 1, 20 * COUNT - 5, identifier(0), TOOL)]
    for n in range(2, COUNT, 2):
        spans.append(made(n, 100 + 10 * n, 110 + 10 * n, identifier(0), TOOL))
        spans.append(made(n + 1, 105 + 10 * n, 115 + 10 * n, identifier(1)))
    return spans


def orphaned() -> list[Span]:
    return [made(n, 1 + n, 3 * COUNT - n, "f" * 16) for n in range(COUNT)]


def looped() -> list[Span]:
    return [made(n, 1 + n, 5 + n, identifier((n + 1) % COUNT)) for n in range(COUNT)]


def parallel() -> list[Span]:
    spans = [made(n, 1, 10 * COUNT - n, identifier(0), TOOL if n % 2 else CHAT) for n in range(1, COUNT)]
    return [made(0, 1, 10 * COUNT), *spans]


def retried() -> list[Span]:
    said: dict[str, Value] = {**CHAT, semconv.REQUEST_HASH: "h", semconv.ERROR_TYPE: "500"}
    spans = [made(n, 10 * n, 10 * n + 8, identifier(0), said) for n in range(1, COUNT)]
    return [made(0, 1, 10 * COUNT), *spans]


def loose() -> list[Span]:
    return [made(n, 1 + 10 * n, 5 + 10 * n, "", CHAT) for n in range(COUNT)]


def echoed() -> list[Span]:
    """Half of the spans report at once what the other half reports, all under one response id."""
    said: dict[str, Value] = {**CHAT, semconv.GEN_AI_RESPONSE_ID: "r"}
    spans = [
        replace(made(2 * n + late, 1 + n, 10 * COUNT + n - late, identifier(0), said), scope=scope)
        for n in range(1, COUNT // 2)
        for late, scope in enumerate(("other", "spanwise"))
    ]
    return [made(0, 1, 20 * COUNT), *spans]


def wrapped() -> list[Span]:
    """A chain in which two instrumentations take turns."""
    return [replace(span, scope="other" if n % 2 else "spanwise", attributes=CHAT) for n, span in enumerate(deep())]


@pytest.mark.parametrize("make", [deep, apart, holed, orphaned, looped, parallel, retried, loose, echoed, wrapped])
def test_a_large_conversation_is_tiled(make: Callable[[], list[Span]]) -> None:
    spans = make()
    ledger = account("c", spans)
    assert sum(row.ns for row in ledger.segments) == ledger.end_ns - ledger.start_ns
    assert drag_ns(ledger.tree, [found.key for found in spans[::2]]) <= ledger.active_ns


def test_the_names_of_a_deep_chain_are_found_in_one_pass() -> None:
    """Every span climbing to the top took 18 s at 8,000 spans."""
    said: dict[str, Value] = {semconv.GEN_AI_TOOL_NAME: "lookup"}
    chain = [made(n, 1 + n, 9 * COUNT - n, identifier(n - 1) if n else "", {} if n else said) for n in range(4 * COUNT)]
    found = dimensions(account("c", chain).tree)
    assert {"lookup"} == {found[span.key].tool for span in chain}
