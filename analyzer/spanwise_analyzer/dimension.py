"""Which model, tool, server and agent a piece of time belongs to: those of its span or of the nearest one above."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spanwise import semconv
from spanwise_analyzer.tree import Node, Tree
from spanwise_collector.span import Kind, Span

_MODEL_OPERATIONS = semconv.INFERENCE_OPERATIONS | {semconv.OPERATION_EMBEDDINGS}


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Names, None where there is none."""

    model: str | None = None
    tool: str | None = None
    server: str | None = None
    agent: str | None = None


NONE = Dimensions()


def dimensions(tree: Tree, span: Span | None) -> Dimensions:
    """The names that hold for time owned by this span."""
    node = tree.nodes.get(span.key) if span else None
    if node is None:
        return NONE
    chain = [found for found in _upward(node) if found is not None]
    return Dimensions(
        next((name for found in chain if (name := model(found))), None),
        next((name for found in chain if (name := found.text(semconv.GEN_AI_TOOL_NAME))), None),
        _server(chain),
        next((name for found in chain if (name := found.text(semconv.GEN_AI_AGENT_NAME))), None),
    )


def model(span: Span) -> str | None:
    """The model of a model call; an agent span may name one too, but its own time is not the model's."""
    if span.text(semconv.GEN_AI_OPERATION_NAME) not in _MODEL_OPERATIONS:
        return None
    return span.text(semconv.GEN_AI_REQUEST_MODEL) or span.text(semconv.GEN_AI_RESPONSE_MODEL)


def _server(chain: list[Span]) -> str | None:
    # The client's name for the server wins over what the server process calls itself: one name on both sides.
    named = next((name for found in chain if (name := found.text(semconv.MCP_SERVER_NAME))), None)
    return named or next((name for found in reversed(chain) if (name := _address(found))), None)


def _address(span: Span) -> str | None:
    if span.text(semconv.MCP_METHOD_NAME) is None:
        return None
    if span.kind is Kind.SERVER:
        return span.service
    return span.text(semconv.SERVER_ADDRESS)


def _upward(node: Node) -> Iterator[Span | None]:
    yield node.span
    for above in node.ancestors():
        yield above.span
