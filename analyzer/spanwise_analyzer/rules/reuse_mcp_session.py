"""The same MCP server was set up more than once in one conversation."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.setup import SetUp
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "reuse-mcp-session"


def find(view: View) -> Finding | None:
    """Exact by replay: all set-ups of a server but the first are taken out; at most also their sessions' closes."""
    repeated = [run for runs in by_server(view).values() for run in _repeats(runs)]
    nodes = [node for run in repeated for node in run.nodes]
    if not nodes:
        return None
    closes = [run.close for run in repeated if run.close]
    least = saving.without(view.ledger, nodes)
    found = saving.ranged(least, least, saving.without(view.ledger, [*nodes, *closes]))
    evidence = [_evidence(view, run) for run in repeated]
    return Finding(RULE, view.stage(nodes), SavingKind.EXACT, found, evidence)


def by_server(view: View) -> dict[object, list[SetUp]]:
    """Set-ups of each server, by start; those of different tenants or processes are apart, they could share nothing."""
    found: dict[object, list[SetUp]] = {}
    for run in view.set_ups:
        if run.name:
            found.setdefault(run.server, []).append(run)
    return found


def _repeats(runs: Sequence[SetUp]) -> list[SetUp]:
    # Sessions that are opened side by side form a pool; only one opened after another had been could have reused it.
    repeats = [run for run in runs if run.start_ns >= runs[0].end_ns]
    return repeats if len(repeats) + 1 >= book.limit(RULE, "set_ups") else []


def _evidence(view: View, run: SetUp) -> Evidence:
    what = f"another set-up of server {run.name} in the same conversation"
    return Evidence(run.nodes[0].key, view.owned(run.nodes), what)
