"""The client probed an old server with a request that it does not know, and then fell back."""

from __future__ import annotations

from spanwise.stages import Stage
from spanwise_analyzer.rules import saving
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "pin-protocol-version"


def find(view: View) -> Finding | None:
    """Exact by replay: the failed probes are taken out."""
    probes = {node.key: (run.name, node) for run in view.set_ups for node in run.probes}
    if not probes:
        return None
    evidence = [
        Evidence(key, view.owned([node]), f"server/discover was refused by server {name}, initialize followed")
        for key, (name, node) in probes.items()
    ]
    found = saving.exact(saving.without(view.ledger, [node for _, node in probes.values()]))
    return Finding(RULE, Stage.MCP_HANDSHAKE, SavingKind.EXACT, found, evidence)
