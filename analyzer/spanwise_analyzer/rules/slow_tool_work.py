"""One tool's own work takes a large part of the time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from spanwise.stages import Stage
from spanwise_analyzer.replay import Change
from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.cache_tool_results import repeats
from spanwise_analyzer.rules.facts.tool import ToolCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind
from spanwise_analyzer.rules.overlap_tool_calls import serial, together
from spanwise_analyzer.tree import Node

RULE = "slow-tool-work"
_OWN = (Stage.MCP_SERVER, Stage.TOOL_LOCAL)


def find(view: View) -> Finding | None:
    """Exact upper bound by replay: the slowest tool's work is taken out, after what other rules would mend."""
    tools: dict[object, list[ToolCall]] = {}
    for call in view.tool_calls:
        if call.name and not call.failed:
            tools.setdefault((call.server, call.name), []).append(call)
    ns, calls = max(_drags(view, tools.values()), key=lambda found: found[0], default=(0, []))
    if not calls or not saving.at_least(
        view.ledger, ns, ms=book.limit(RULE, "work_ms"), share=book.limit(RULE, "work_share")
    ):
        return None
    found = saving.ranged(0, ns * book.limit(RULE, "expected_share"), ns)
    work = [node for call in calls for node in call.work()]
    return Finding(RULE, view.stage(work), SavingKind.EXACT, found, [_evidence(view, call) for call in calls])


def _mended(view: View) -> Change:
    """What repeats, failed attempts and serial dispatch cost is their rules' to say: only the rest is slow work."""
    spent: list[Node] = [call.node for call in [*repeats(view), *(call for call in view.tool_calls if call.failed)]]
    return Change(remove=saving.keys(spent), together=together(serial(view)).together)


def _drags(view: View, tools: Iterable[Sequence[ToolCall]]) -> Iterator[tuple[int, Sequence[ToolCall]]]:
    """What each tool's work still costs once the rest is mended; only tools whose work could reach the limit."""
    mended = _mended(view)
    without = saving.replayed(view.ledger, mended)
    for calls in tools:
        work = [node for call in calls for node in call.work()]
        if sum(node.reach_ns for node in work) >= book.limit(RULE, "work_ms") * 1e6:
            both = Change(remove=mended.remove | saving.keys(work), together=mended.together)
            yield saving.replayed(view.ledger, both) - without, calls


def _evidence(view: View, call: ToolCall) -> Evidence:
    work = call.work()
    own, below = view.owned(work, *_OWN), view.owned(work, Stage.TOOL_DOWNSTREAM)
    what = f"{call.name}: {own / 1e6:.0f} ms own work, {below / 1e6:.0f} ms downstream"
    return Evidence(call.key, own + below, what)
