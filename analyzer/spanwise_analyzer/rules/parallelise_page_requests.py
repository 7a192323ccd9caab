"""Model requests of one form waited for each other although none used another's answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from spanwise import semconv
from spanwise_analyzer.replay import Change
from spanwise_analyzer.role import Role
from spanwise_analyzer.rules import book, saving
from spanwise_analyzer.rules.facts.model import ModelCall
from spanwise_analyzer.rules.facts.rounds import lanes
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Evidence, Finding, SavingKind
from spanwise_analyzer.tree import Node
from spanwise_collector.span import SpanKey

RULE = "parallelise-page-requests"
_INSTRUCTIONS = frozenset({"instructions", "system", "developer"})


def find(view: View) -> Finding | None:
    """Exact by replay: the requests start together, at most so many at a time."""
    queues = [queue for queue in _queues(view) if len(queue[0]) > 1]
    if not queues:
        return None
    change = Change(
        together=[frozenset(lane.key for lane in siblings) for _, siblings in queues],
        cap=int(book.limit(RULE, "concurrency")),
    )
    calls = [call for members, _ in queues for call in members]
    evidence = [_evidence(view, call, place) for members, _ in queues for place, call in enumerate(members)]
    found = saving.exact(saving.replayed(view.ledger, change))
    return Finding(RULE, view.stage([call.node for call in calls]), SavingKind.EXACT, found, evidence)


def _evidence(view: View, call: ModelCall, place: int) -> Evidence:
    what = "waited for the request before it, whose answer it does not use" if place else "the first of the requests"
    return Evidence(call.key, view.owned([call.node]), what)


def _queues(view: View) -> list[tuple[list[ModelCall], list[Node]]]:
    """Runs of independent requests with the siblings to move."""
    calls = [call for call in view.model_calls if _page(call)]
    found = []
    for _, alike in groupby(sorted(calls, key=_sort_key), key=_form):
        for run in _independent(list(alike)):
            siblings = lanes([call.node for call in run], [tool.node for tool in view.tool_calls])
            if siblings:
                found.append((run, siblings))
    return found


def _sort_key(call: ModelCall) -> tuple[str, int]:
    return repr(_form(call)), call.node.start_ns


def _page(call: ModelCall) -> bool:
    """A request on its own: prompt and answer are known, it asks for no tools and goes on from no other."""
    known = bool(call.blocks) and call.span.text(semconv.RESPONSE_BLOCK_HASH) is not None and call.key_id is not None
    chained = call.span.text(semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID) is not None
    return known and not chained and not call.failed and not call.wants_tools


def _form(call: ModelCall) -> tuple[object, ...]:
    """Equal for requests that differ only in what they are about: place, model, kinds of blocks, instructions."""
    kinds = tuple(block.kind for block in call.blocks)
    instructions = tuple(block.digest for block in call.blocks if block.kind in _INSTRUCTIONS)
    return _place(call.node), call.endpoint, call.key_id, kinds, instructions


def _place(node: Node) -> SpanKey:
    """Where the request was made: above the steps that hold nothing but this one request."""
    above = node.parent
    while above is not None and above.span is not None and _wraps_only(above, node):
        above = above.parent
    return above.key if above is not None else ("", "")


def _wraps_only(above: Node, call: Node) -> bool:
    if above.role is Role.AGENT:
        return False
    held = [below for below in above.walk() if below.role in {Role.INFERENCE, Role.TOOL, Role.MCP_CLIENT}]
    return all(below is call for below in held)


def _independent(alike: Sequence[ModelCall]) -> list[list[ModelCall]]:
    """Cut where a request holds an earlier answer, or did not wait."""
    runs: list[list[ModelCall]] = []
    for call in alike:
        if runs and not _uses(call, runs[-1]) and call.node.start_ns >= runs[-1][-1].node.end_ns:
            runs[-1].append(call)
        else:
            runs.append([call])
    return runs


def _uses(call: ModelCall, earlier: Sequence[ModelCall]) -> bool:
    answers = {other.span.text(semconv.RESPONSE_BLOCK_HASH) for other in earlier}
    return any(block.digest in answers for block in call.blocks)
