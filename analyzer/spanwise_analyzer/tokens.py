"""The token bill: what all model calls took in and gave out, and where the input came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from spanwise import semconv
from spanwise_analyzer.ledger import TokenBill, TokenSource
from spanwise_analyzer.role import Role
from spanwise_analyzer.tree import Node, Tree
from spanwise_collector.span import Span

INSTRUCTIONS = "instructions"
TOOL_DEFINITIONS = "tool_definitions"
TOOL_RESULTS = "tool_results"
HISTORY = "history"
USER = "user"

_SOURCES = {
    "tools": TOOL_DEFINITIONS,
    "instructions": INSTRUCTIONS,
    "system": INSTRUCTIONS,
    "developer": INSTRUCTIONS,
    "tool": TOOL_RESULTS,
    "user": USER,
}
_BLOCK_PARTS = 3
_MAX_DIGITS = 12

Key = TypeVar("Key")
Source: TypeAlias = tuple[str, str | None]  # source, server


def bill(tree: Tree, calls: Iterable[Node]) -> TokenBill:
    """Totals over the calls (each counted once); a count that no call reports is None."""
    spans = [call.record for call in calls]
    return TokenBill(
        input=_total(spans, semconv.GEN_AI_USAGE_INPUT_TOKENS),
        cached=_total(spans, semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS),
        output=_total(spans, semconv.GEN_AI_USAGE_OUTPUT_TOKENS),
        by_source=_by_source(spans, _owners(tree)),
    )


def _total(spans: Sequence[Span], name: str) -> int | None:
    # A negative count says as much as none.
    counts = [count for span in spans if (count := span.integer(name)) is not None and count >= 0]
    return sum(counts) if counts else None


def _by_source(spans: Sequence[Span], servers: Mapping[str, str | None]) -> list[TokenSource]:
    total: Counter[Source] = Counter()
    for span in spans:
        total.update(_sources(span, servers))
    rows = [
        TokenSource(source, tokens, "estimated", server=server) for (source, server), tokens in total.items() if tokens
    ]
    return sorted(rows, key=lambda row: (-row.tokens, row.source, row.server or ""))


def _sources(span: Span, servers: Mapping[str, str | None]) -> Mapping[Source, int]:
    """One call's input by source: the estimated blocks, scaled to the input that was measured."""
    weights: Counter[Source] = Counter()
    for source, tokens in _blocks(span.texts(semconv.PROMPT_BLOCKS)):
        if source == TOOL_DEFINITIONS:
            sizes = _definitions(span, servers)
            weights.update({(source, server): part for server, part in _shared(tokens, sizes).items()})
        else:
            weights[source, None] += tokens
    measured = span.integer(semconv.GEN_AI_USAGE_INPUT_TOKENS)
    return _shared(measured, weights) if measured is not None and weights.total() else weights


def _blocks(blocks: Sequence[str]) -> list[tuple[str, int]]:
    """Source and tokens of each prompt block; all but the last user message are history."""
    parsed = [(parts[0], int(parts[-1])) for block in blocks if (parts := _parts(block))]
    last_user = max((place for place, (kind, _) in enumerate(parsed) if kind == USER), default=None)
    return [
        (HISTORY if kind == USER and place != last_user else _SOURCES.get(kind, HISTORY), tokens)
        for place, (kind, tokens) in enumerate(parsed)
    ]


def _parts(block: str) -> list[str] | None:
    parts = block.split(":")
    return parts if len(parts) == _BLOCK_PARTS and parts[-1].isdecimal() and len(parts[-1]) <= _MAX_DIGITS else None


def _owners(tree: Tree) -> Mapping[str, str | None]:
    """The MCP server that offers each tool, by the lists it sent; None where several offer one of that name."""
    found: dict[str, str | None] = {}
    for node in tree.nodes.values():
        span = node.span
        if span is None or node.role is not Role.MCP_CLIENT:
            continue
        server = span.text(semconv.MCP_SERVER_NAME)
        for tool in span.texts(semconv.TOOLS_NAMES):
            found[tool] = server if found.get(tool, server) == server else None
    return found


def _definitions(span: Span, servers: Mapping[str, str | None]) -> Counter[str | None]:
    """Size of the tool definitions of each server in one request; application tools are nobody's."""
    names = span.texts(semconv.TOOLS_NAMES)
    sizes = span.attributes.get(semconv.TOOLS_SIZES)
    known = isinstance(sizes, Sequence) and not isinstance(sizes, str | bytes) and len(sizes) == len(names)
    found: Counter[str | None] = Counter()
    for place, name in enumerate(names):
        size = sizes[place] if known and isinstance(sizes, Sequence) else 1
        found[servers.get(name)] += size if isinstance(size, int) and size > 0 else 1
    return found or Counter({None: 1})


def _shared(total: int, weights: Mapping[Key, int]) -> dict[Key, int]:
    """A whole number of tokens by weight; largest remainders make up what rounding lost."""
    whole = sum(weights.values())
    if not whole:
        return dict.fromkeys(weights, 0)
    found = {key: total * weight // whole for key, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda key: (-(total * weights[key] % whole), str(key)))
    for key in by_remainder[: total - sum(found.values())]:
        found[key] += 1
    return found
