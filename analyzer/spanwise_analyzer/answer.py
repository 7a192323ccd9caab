"""The whole answer for one conversation, from its ledger and the advice on it."""

from __future__ import annotations

from spanwise import semconv
from spanwise_analyzer.ledger import Ledger, Problem, StageTime, Turn
from spanwise_analyzer.shapes import (
    Dominant,
    ProblemRow,
    SourceRow,
    StageRow,
    Tokens,
    TurnRow,
    ms,
)

BOUNDARY = "turns of the agent, from first span to last"


def agent(ledger: Ledger) -> str | None:
    """The name of the agent that answered the first turn that names one."""
    named = (turn.root.text(semconv.GEN_AI_AGENT_NAME) for turn in ledger.turns)
    return next((name for name in named if name), None)


def dominant(ledger: Ledger) -> Dominant | None:
    """The long pole, None when nothing took time."""
    row = ledger.dominant
    return Dominant(row.stage, row.stage.group, ms(row.ns), ledger.share(row.ns)) if row else None


def turns(ledger: Ledger) -> list[TurnRow]:
    """The turns in order."""
    return [_turn(ledger, turn) for turn in ledger.turns]


def traces(ledger: Ledger) -> list[str]:
    """Ids of the traces of this conversation: those of its turns first, then the joined ones."""
    found = [turn.trace_id for turn in ledger.turns]
    found.extend(sorted({trace_id for trace_id, _ in ledger.tree.nodes}))
    return list(dict.fromkeys(found))


def stages(ledger: Ledger) -> list[StageRow]:
    """Every active stage with time, largest first."""
    return [_stage(ledger, row) for row in ledger.stages]


def tokens(ledger: Ledger) -> Tokens:
    """The token bill."""
    bill = ledger.tokens
    sources = [SourceRow(row.source, row.server, row.tool, row.tokens, row.basis) for row in bill.by_source]
    return Tokens(bill.input, bill.cached, bill.output, sources)


def problems(ledger: Ledger) -> list[ProblemRow]:
    """What was odd about the spans."""
    return [_problem(row) for row in ledger.problems]


def _turn(ledger: Ledger, turn: Turn) -> TurnRow:
    return TurnRow(
        turn=turn.number,
        trace_id=turn.trace_id,
        offset_ms=ms(turn.start_ns - ledger.start_ns),
        active_ms=ms(turn.active_ns),
        ttft_ms=None if turn.ttft_ns is None else ms(turn.ttft_ns),
    )


def _stage(ledger: Ledger, row: StageTime) -> StageRow:
    return StageRow(
        stage=row.stage,
        group=row.stage.group,
        ms=ms(row.ns),
        share=ledger.share(row.ns),
        busy_ms=ms(row.busy_ns),
        equal_split_ms=ms(row.equal_split_ns),
        spans=row.spans,
    )


def _problem(row: Problem) -> ProblemRow:
    trace_id, span_id = row.span or (None, None)
    return ProblemRow(row.code, trace_id, span_id, row.text)
