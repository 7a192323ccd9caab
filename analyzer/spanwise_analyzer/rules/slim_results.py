"""A tool's result was so large, or an image, that the next model call had much to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from spanwise.stages import Stage
from spanwise_analyzer.rules import book, pace, saving
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.results import Result, results
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, Saving, SavingKind

RULE = "slim-results"
_IMAGE = "image"


def find(view: View) -> Finding | None:
    """Modelled: the tokens added at the price of reading here, and the transport beyond that of other results."""
    large = [result for result in results(view) if _large(result)]
    if not large:
        return None
    parts = [*_reading(view, large), *_transport(view, large)]
    nodes = [node for result in large for node in (result.tool.node, result.reader.node)]
    kind = SavingKind.MODELLED if parts else SavingKind.NONE
    evidence = [Evidence(result.tool.key, view.owned([result.reader.node]), _words(result)) for result in large]
    stage = view.stage(nodes, Stage.MODEL_FIRST_TOKEN, Stage.MODEL_CALL, Stage.MCP_TRANSPORT)
    return Finding(RULE, stage, kind, saving.total(parts) if parts else None, evidence)


def _large(result: Result) -> bool:
    if result.tool.failed:
        return False
    heavy = (result.bytes or 0) >= book.limit(RULE, "result_bytes")
    # What the service had cached was not new: only uncached tokens can have come from the result.
    added = min(result.tokens or 0, result.reader.uncached or 0)
    return heavy or _IMAGE in result.types or added >= book.limit(RULE, "added_tokens")


def _reading(view: View, large: Sequence[Result]) -> Iterator[Saving]:
    """What the tokens of each result cost in the call that read it first."""
    readers = {result.reader.key for result in large}
    others = [call for call in view.model_calls if call.key not in readers and not call.images and not call.files]
    for result in large:
        price, load = _price(view, result.reader, others), result.reader.load
        if price is not None and result.tokens is not None and load is not None:
            bound = view.owned([result.reader.node], Stage.MODEL_FIRST_TOKEN, Stage.MODEL_CALL)
            tokens = min(result.tokens, load)
            yield saving.ranged(*(min(bound, tokens * each) for each in price))


def _price(view: View, reader: ModelCall, others: Sequence[ModelCall]) -> tuple[float, float, float] | None:
    slope = view.norms.slopes.get(reader.deployment)
    if slope:
        return slope.uncached.low, slope.uncached.expected, slope.uncached.high
    seen = pace.reading(reader, others)
    return (seen.low, seen.expected, seen.high) if seen else None


def _transport(view: View, large: Sequence[Result]) -> Iterator[Saving]:
    """Time on the way beyond what other calls of the same server needed."""
    taken = {result.tool.key for result in large}
    usual: dict[str | None, list[int]] = {}
    for tool in view.tool_calls:
        if tool.key not in taken:
            usual.setdefault(tool.server, []).append(view.owned([tool.node], Stage.MCP_TRANSPORT))
    for tool in (result.tool for result in large if result.tool.server in usual):
        extra = view.owned([tool.node], Stage.MCP_TRANSPORT) - round(median(usual[tool.server]))
        if extra > 0:
            yield saving.exact(extra)


def _words(result: Result) -> str:
    size = "an image" if _IMAGE in result.types else "a result"
    added = f", {result.tokens} tokens more for the next model call" if result.tokens else ""
    return f"{size} of {result.bytes} bytes{added}"
