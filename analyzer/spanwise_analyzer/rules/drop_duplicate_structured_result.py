"""A tool result carried the same data twice, as text and as structure."""

from __future__ import annotations

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.rules import book
from spanwise_analyzer.rules.facts.tool import ToolCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind

RULE = "drop-duplicate-structured-result"


def find(view: View) -> Finding | None:
    """No latency claim: whether the model was given both copies is not to be seen."""
    calls = [call for call in view.tool_calls if _duplicate(call) >= book.limit(RULE, "duplicate_bytes")]
    if not calls:
        return None
    evidence = [
        Evidence(call.key, view.owned([call.node], Stage.MCP_TRANSPORT), f"{_duplicate(call)} bytes came twice")
        for call in calls
    ]
    return Finding(RULE, view.stage([call.node for call in calls]), SavingKind.NONE, None, evidence)


def _duplicate(call: ToolCall) -> int:
    return call.integer(semconv.TOOL_DUPLICATE_BYTES) or 0
