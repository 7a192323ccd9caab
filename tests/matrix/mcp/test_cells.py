"""Every transport, protocol and side: the number of spans is exact, they are one tree, and nobody notices us."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.matrix.mcp import tree
from tests.matrix.mcp.cells import Cell, cells
from tests.matrix.mcp.expected import client_spans, http_spans, server_spans
from tests.matrix.mcp.place import served
from tests.matrix.mcp.scenario import Record, play
from tests.matrix.mcp.sink import Sink

import spanwise
from spanwise import semconv

TURN = "invoke_agent caller"


@functools.cache
def without_us(transport: str, mode: str, layer: str) -> Record:
    """What a caller sees where nobody is instrumented."""
    with served(transport, layer, None) as place:
        return asyncio.run(play(place, mode))


def with_us(cell: Cell, environment: dict[str, str] | None) -> Record:
    async def turn(place: Any) -> Record:
        with spanwise.conversation("c-1"), spanwise.turn(agent="caller"):
            return await play(place, cell.mode)

    with served(cell.transport, cell.layer, environment) as place:
        return asyncio.run(turn(place))


@pytest.fixture(params=cells(), ids=str)
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    """One cell; without its record a difference could not be told."""
    made: Cell = request.param
    spanwise.uninstrument()
    assert ("open",) in without_us(made.transport, made.mode, made.layer)
    yield made
    spanwise.uninstrument()


def test_cell(cell: Cell, provider: TracerProvider, kept: InMemorySpanExporter, sink: Sink) -> None:
    if cell.client:
        spanwise.instrument(tracer_provider=provider)
    record = with_us(cell, sink.environment if cell.server else None)
    assert without_us(cell.transport, cell.mode, cell.layer) == record

    nodes = tree.local(kept.get_finished_spans()) + tree.remote(sink.spans)
    http = [node for node in nodes if node.name in {"POST", "GET", "DELETE"}]
    assert client_spans(cell) == tree.counted(nodes, "CLIENT") - tree.counted(http, "CLIENT")
    assert server_spans(cell) == tree.counted(nodes, "SERVER")
    assert http_spans(cell) == tree.counted(http, "CLIENT")
    if cell.client:
        assert [TURN] == tree.roots(nodes)
        assert {"c-1"} == {node.attributes.get(semconv.GEN_AI_CONVERSATION_ID) for node in nodes}
        assert http_parents(nodes) == tree.parents(nodes, http)


def http_parents(nodes: list[tree.Node]) -> set[tuple[str, str]]:
    """Each message has its own POST; the stream of a session lives with it, and it is deleted at its end."""
    sent = {node.name for node in nodes if node.kind == "CLIENT" and semconv.MCP_METHOD_NAME in node.attributes}
    names = {node.name for node in nodes}
    found = {(name, "POST") for name in sent} if "POST" in names else set()
    return (
        found
        | {("mcp.connect shop", "GET") for _ in names & {"GET"}}
        | {("mcp.close shop", "DELETE") for _ in names & {"DELETE"}}
    )
