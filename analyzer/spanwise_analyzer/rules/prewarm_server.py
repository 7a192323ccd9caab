"""The user waited inside a turn for the one set-up of an MCP server."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.setup import SetUp
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind
from spanwise_analyzer.rules.reuse_mcp_session import by_server

RULE = "prewarm-server"


def find(view: View) -> Finding | None:
    """Exact by replay: the set-ups leave the turn."""
    runs = [runs[0] for runs in by_server(view).values() if _waited_for(view.ledger, view, runs)]
    nodes = [node for run in runs for node in run.nodes]
    if not nodes:
        return None
    evidence = [_evidence(view, run) for run in runs]
    found = saving.exact(saving.without(view.ledger, nodes))
    return Finding(RULE, view.stage(nodes), SavingKind.EXACT, found, evidence)


def _waited_for(ledger: Ledger, view: View, runs: Sequence[SetUp]) -> bool:
    if len(runs) != 1 or runs[0].probes or not view.in_turn(runs[0].nodes[0]):
        return False
    took = saving.without(ledger, runs[0].nodes)
    ms, share = book.limit(RULE, "set_up_ms"), book.limit(RULE, "set_up_share")
    return saving.at_least(ledger, took, ms=ms, share=share)


def _evidence(view: View, run: SetUp) -> Evidence:
    what = f"server {run.name} was connected and greeted while the user waited"
    return Evidence(run.nodes[0].key, view.owned(run.nodes), what)
