"""Norms of a fleet, from the accounts of many conversations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.rules import book
from spanwise_analyzer.rules.facts.model import Deployment, ModelCall
from spanwise_analyzer.rules.facts.norms import Norms, Tool
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.slope import Row, fit


def learn(ledgers: Iterable[Ledger]) -> Norms:
    """Prices per token of each deployment and slow times of each tool, as far as there is enough to tell."""
    rows: dict[Deployment, list[Row]] = {}
    durations: dict[Tool, list[int]] = {}
    for ledger in ledgers:
        view = View(ledger)
        for call in view.model_calls:
            if row := _row(ledger, call):
                rows.setdefault(call.deployment, []).append(row)
        for tool in view.tool_calls:
            if tool.name and not tool.failed:
                durations.setdefault((tool.server, tool.name), []).append(tool.node.ns)
    slopes = {deployment: slope for deployment, found in rows.items() if (slope := fit(found))}
    return Norms(slopes, {tool: _p99(found) for tool, found in durations.items() if _enough(found)})


def _row(ledger: Ledger, call: ModelCall) -> Row | None:
    """Images and files cost time beyond their tokens, and a failed call tells nothing."""
    if call.failed or call.images or call.files or call.uncached is None or call.cached is None:
        return None
    output = call.output if call.first_ns is None else None
    return Row(ledger.conversation_id, call.reading_ns, call.uncached, call.cached, output)


def _enough(durations: list[int]) -> bool:
    return len(durations) >= book.constant("pace", "min_tool_calls")


def _p99(durations: list[int]) -> int:
    return round(float(np.quantile(durations, 0.99)))
