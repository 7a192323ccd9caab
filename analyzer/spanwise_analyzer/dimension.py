"""Which model, tool, server and agent a piece of time belongs to: those of its span or of the nearest one above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spanwise import semconv
from spanwise_analyzer.tree import Tree
from spanwise_collector.span import Kind, Span, SpanKey

_MODEL_OPERATIONS = semconv.INFERENCE_OPERATIONS | {semconv.OPERATION_EMBEDDINGS}


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Names, None where there is none.

    ``named`` is the client's name for an MCP server, ``address`` where the topmost request went.
    """

    model: str | None = None
    tool: str | None = None
    named: str | None = None
    address: str | None = None
    agent: str | None = None

    @property
    def server(self) -> str | None:
        """The client's name wins over what the server process calls itself: one name on both sides."""
        return self.named or self.address


NONE = Dimensions()


def dimensions(tree: Tree) -> Mapping[SpanKey, Dimensions]:
    """The names that hold for the time of each span; one pass, parents first, since climbing is quadratic."""
    found: dict[SpanKey, Dimensions] = {}
    for top in (tree.root, *tree.background):
        for node in top.walk():
            above = found.get(node.parent.key, NONE) if node.parent else NONE
            found[node.key] = _below(above, node.span) if node.span else NONE
    return found


def model(span: Span) -> str | None:
    """The model of a model call; an agent span may name one too, but its own time is not the model's."""
    if span.text(semconv.GEN_AI_OPERATION_NAME) not in _MODEL_OPERATIONS:
        return None
    return span.text(semconv.GEN_AI_REQUEST_MODEL) or span.text(semconv.GEN_AI_RESPONSE_MODEL)


def _below(above: Dimensions, span: Span) -> Dimensions:
    return Dimensions(
        model(span) or above.model,
        span.text(semconv.GEN_AI_TOOL_NAME) or above.tool,
        span.text(semconv.MCP_SERVER_NAME) or above.named,
        above.address or _address(span),
        span.text(semconv.GEN_AI_AGENT_NAME) or above.agent,
    )


def _address(span: Span) -> str | None:
    if span.text(semconv.MCP_METHOD_NAME) is None:
        return None
    if span.kind is Kind.SERVER:
        return span.service
    return span.text(semconv.SERVER_ADDRESS)
