"""The sweep finds the interval that trying all of them finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.analyzer.core.forests import bare

from spanwise_analyzer.timeline.containers import shortest
from spanwise_analyzer.tree import Node

INTERVALS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 2)), max_size=14)


@given(INTERVALS, st.booleans())
def test_the_shortest_container_of_another_family_is_found(rows: list[tuple[int, int, int]], strict: bool) -> None:  # noqa: FBT001
    nodes = [Node(bare(n, 0, 0, -1), start, start + length) for n, (start, length, _) in enumerate(rows)]
    family = {node: row[2] for node, row in zip(nodes, rows, strict=True)}
    expected = {}
    for inner in nodes:
        around = [
            (node.ns, -family[node], node.key, node)
            for node in nodes
            if family[node] != family[inner] and node.ns >= inner.ns + strict
            if node.start_ns <= inner.start_ns and inner.end_ns <= node.end_ns
        ]
        if around:
            expected[inner] = min(around)[-1]
    assert shortest(nodes, nodes, family=family.__getitem__, depth=family.__getitem__, strict=strict) == expected
