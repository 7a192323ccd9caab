"""The spans of both processes in one shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.trace.v1 import trace_pb2
from opentelemetry.sdk.trace import ReadableSpan


@dataclass(frozen=True, slots=True)
class Node:
    """One span."""

    kind: str
    name: str
    trace: int
    id: int
    parent: int | None
    attributes: Mapping[str, Any]


def local(spans: Iterable[ReadableSpan]) -> list[Node]:
    """Spans of this process."""
    return [
        Node(
            span.kind.name,
            span.name,
            span.context.trace_id,
            span.context.span_id,
            span.parent.span_id if span.parent else None,
            span.attributes or {},
        )
        for span in spans
        if span.context is not None
    ]


def remote(spans: Iterable[trace_pb2.Span]) -> list[Node]:
    """Spans that another process has sent."""
    return [
        Node(
            trace_pb2.Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
            span.name,
            int.from_bytes(span.trace_id, "big"),
            int.from_bytes(span.span_id, "big"),
            int.from_bytes(span.parent_span_id, "big") or None,
            {
                pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value")
                for pair in span.attributes
            },
        )
        for span in spans
    ]


def counted(nodes: Sequence[Node], kind: str) -> Counter[str]:
    """How many spans of this kind have which name."""
    return Counter(node.name for node in nodes if node.kind == kind)


def roots(nodes: Sequence[Node]) -> list[str]:
    """The names of the spans whose parent is not among ``nodes``."""
    known = {node.id for node in nodes}
    return [node.name for node in nodes if node.parent not in known]


def parents(nodes: Sequence[Node], chosen: Sequence[Node]) -> set[tuple[str | None, str]]:
    """Which name is the parent of which among ``chosen``."""
    names = {node.id: node.name for node in nodes}
    return {(names.get(node.parent or 0), node.name) for node in chosen}
