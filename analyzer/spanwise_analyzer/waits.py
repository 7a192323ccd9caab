"""What a span says it waited for: timing alone cannot tell a condition from a coincidence."""

from __future__ import annotations

from collections.abc import Iterator

from spanwise import semconv
from spanwise_analyzer.tree import Node, Tree


def waited_for(tree: Tree, node: Node) -> Iterator[Node]:
    """The siblings that are, or hold, the spans that the node's ``waits_for`` links name."""
    for link in node.record.links:
        if link.attributes.get(semconv.LINK) == semconv.LINK_WAITS_FOR:
            found = tree.nodes.get((link.trace_id, link.span_id))
            while found is not None and found.parent is not node.parent:
                found = found.parent
            if found is not None:
                yield found
