"""The account of one conversation: from a set of spans to the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from spanwise.stages import Stage
from spanwise_analyzer import split, tokens, turns
from spanwise_analyzer.calls import ModelCalls, chunk_is_not_content
from spanwise_analyzer.gaps import IDLE_THRESHOLD_NS
from spanwise_analyzer.ledger import Ledger, Problem, Segment, StageTime, Turn
from spanwise_analyzer.oddity import Oddity
from spanwise_analyzer.role import Role
from spanwise_analyzer.segments import Facts, facts
from spanwise_analyzer.timeline.order import normalise
from spanwise_analyzer.tree import Tree
from spanwise_analyzer.turns import Round, Rounds
from spanwise_collector.span import Span, SpanKey, Status


def account(conversation_id: str, spans: Iterable[Span], *, idle_threshold_ns: int = IDLE_THRESHOLD_NS) -> Ledger:
    """The ledger of a conversation; the order of the spans and copies of them do not matter.

    Pure, and never an error: what is odd about the spans becomes a problem. A pause that the program does not declare
    counts as the user's time only when it is longer than ``idle_threshold_ns``.
    """
    tree, problems = normalise(conversation_id, spans)
    calls = ModelCalls(tree)
    rounds = turns.find(tree)
    found = facts(tree, calls, rounds, idle_threshold_ns=idle_threshold_ns)
    took = _took(found.owned)
    return Ledger(
        conversation_id=conversation_id,
        service=_service(tree, rounds),
        status=_status(rounds),
        start_ns=tree.root.eff_start_ns,
        end_ns=tree.root.eff_end_ns,
        active_ns=sum(ns for stage, ns in took.items() if stage.active),
        idle_ns=took[Stage.USER_IDLE],
        wait_ns=took[Stage.USER_WAIT],
        turns=_turns(rounds, calls, found.owned),
        segments=found.owned,
        stages=_stage_times(took, found),
        tokens=tokens.bill(tree, calls.counted()),
        tree=tree,
        problems=[*problems, *_unsplit(tree), *found.problems],
        owned=_by_span(found.owned),
    )


def _took(segments: Iterable[Segment]) -> Counter[Stage]:
    took: Counter[Stage] = Counter()
    for segment in segments:
        took[segment.stage] += segment.ns
    return took


def _stage_times(took: Counter[Stage], found: Facts) -> list[StageTime]:
    """Active stages with time, the largest first; sorting is stable, so ties keep the order of the stages."""
    busy, equal = _took(found.ran), split.equal_split(found.ran)
    spans: Counter[Stage] = Counter(
        stage for stage, _ in {(row.stage, row.span.key) for row in found.owned if row.span}
    )
    rows = [
        StageTime(stage, took[stage], busy[stage], equal[stage], spans[stage])
        for stage in Stage
        if stage.active and took[stage]
    ]
    return sorted(rows, key=lambda row: -row.ns)


def _by_span(segments: Iterable[Segment]) -> dict[SpanKey, int]:
    owned: Counter[SpanKey] = Counter()
    for segment in segments:
        if segment.span is not None:
            owned[segment.span.key] += segment.ns
    return dict(owned)


def _turns(rounds: Rounds, calls: ModelCalls, segments: Sequence[Segment]) -> list[Turn]:
    active: Counter[int | None] = Counter()
    for segment in segments:
        active[segment.turn] += segment.ns if segment.stage.active else 0
    last = {rounds.numbers.get(call): calls.first_content_ns(call) for call in calls.outermost}
    return [_turn(found, active[found.number], last.get(found.number)) for found in rounds.all]


def _turn(found: Round, active_ns: int, content_ns: int | None) -> Turn:
    """Its time to first token is that of its last model call: what the user of the answer sees."""
    root = found.root.record
    return Turn(
        number=found.number,
        trace_id=root.trace_id,
        root=root,
        start_ns=found.start_ns,
        end_ns=found.end_ns,
        active_ns=active_ns,
        ttft_ns=None if content_ns is None else content_ns - found.start_ns,
    )


def _status(rounds: Rounds) -> str:
    spans = [root.record for found in rounds.all for root in found.roots if root is found.root or turns.leads(root)]
    if any(span.end_ns <= 0 for span in spans):
        return "open"
    return "error" if any(span.status is Status.ERROR for span in spans) else "ok"


def _service(tree: Tree, rounds: Rounds) -> str:
    """The first turn's; without a turn that of the first span."""
    first = [found.root for found in rounds.all] or tree.root.children or list(tree.background)
    return first[0].record.service if first else "unknown_service"


def _unsplit(tree: Tree) -> list[Problem]:
    code = Oddity.CHUNK_IS_NOT_CONTENT
    calls = (node for node in tree.blocking() if node.role is Role.INFERENCE)
    return [Problem(code.value, code.text, call.key) for call in calls if chunk_is_not_content(call.record)]
