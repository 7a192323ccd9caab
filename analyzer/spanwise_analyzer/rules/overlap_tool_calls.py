"""One response asked for several tool calls, and they ran one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise import semconv
from spanwise_analyzer.replay import Change
from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.rounds import asked_together, lanes, rounds
from spanwise_analyzer.rules.facts.tool import ToolCall
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind
from spanwise_analyzer.tree import Node

RULE = "overlap-tool-calls"


@dataclass(frozen=True, slots=True)
class Queue:
    """Calls of one response that could have overlapped, and the siblings to move."""

    calls: Sequence[ToolCall]
    lanes: Sequence[Node]


def find(view: View) -> Finding | None:
    """Exact by replay: all calls of a response start with its first."""
    queues = serial(view)
    if not queues:
        return None
    nodes = [lane for queue in queues for lane in queue.lanes]
    found = saving.exact(saving.replayed(view.ledger, together(queues)))
    evidence = [
        Evidence(call.key, view.owned([call.node]), f"call {place} of {len(queue.calls)} of one response, run in turn")
        for queue in queues
        for place, call in enumerate(queue.calls, 1)
    ]
    return Finding(RULE, view.stage(nodes), SavingKind.EXACT, found, evidence, _caveats(queues))


def serial(view: View) -> list[Queue]:
    """The calls of each response that ran at least partly after one another."""
    found = [_queue(view, asked_together(one)) for run in rounds(view) for one in run]
    return [queue for queue in found if queue]


def together(queues: Sequence[Queue]) -> Change:
    """The change that lets the calls of each response start together."""
    return Change(together=[frozenset(lane.key for lane in queue.lanes) for queue in queues])


def _queue(view: View, calls: Sequence[ToolCall]) -> Queue | None:
    movable = [call for call in calls if not _destructive(call)]
    if len(movable) < book.limit(RULE, "calls") or not _one_after_another(movable):
        return None
    nodes = [call.node for call in movable]
    siblings = lanes(nodes, [call.node for call in view.model_calls])
    return Queue(movable, siblings) if siblings else None


def _one_after_another(calls: Sequence[ToolCall]) -> bool:
    return any(
        later.node.start_ns >= earlier.node.end_ns for earlier in calls for later in calls if later is not earlier
    )


def _destructive(call: ToolCall) -> bool:
    return call.flag(semconv.TOOL_DESTRUCTIVE) is True and call.flag(semconv.TOOL_IDEMPOTENT) is not True


def _caveats(queues: Sequence[Queue]) -> tuple[str, ...]:
    names = sorted({call.name or "a tool" for queue in queues for call in queue.calls if not call.harmless})
    words = "is not marked read-only or idempotent: its owner has to say that it may overlap."
    return tuple(f"{name} {words}" for name in names)
