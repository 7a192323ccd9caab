"""The whole answer about one conversation: its ledger, and what to change."""

from __future__ import annotations

from spanwise_analyzer import answer
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.moment import rfc3339
from spanwise_analyzer.rules import book
from spanwise_analyzer.rules.finding import Evidence, Finding, Saving
from spanwise_analyzer.rules.guide import recommend
from spanwise_analyzer.shapes import Answer, EvidenceRow, NoticeRow, RecommendationRow, SavingRow, ms


def statement(ledger: Ledger, *, edition: str) -> Answer:
    """Everything that the API says about this conversation."""
    advice = recommend(ledger)
    return Answer(
        conversation_id=ledger.conversation_id,
        service=ledger.service,
        agent=answer.agent(ledger),
        started_at=rfc3339(ledger.start_ns),
        boundary=answer.BOUNDARY,
        status=ledger.status,
        turns=answer.turns(ledger),
        traces=answer.traces(ledger),
        active_ms=ms(ledger.active_ns),
        idle_ms=ms(ledger.idle_ns),
        wait_ms=ms(ledger.wait_ns),
        stages=answer.stages(ledger),
        dominant=answer.dominant(ledger),
        tokens=answer.tokens(ledger),
        recommendations=[_recommendation(ledger, finding) for finding in advice.findings],
        notices=[NoticeRow(notice.code, notice.text) for notice in advice.notices],
        problems=answer.problems(ledger),
        edition=edition,
    )


def _recommendation(ledger: Ledger, finding: Finding) -> RecommendationRow:
    words = book.entry(finding.rule)
    saving = finding.saving
    return RecommendationRow(
        rule=finding.rule,
        stage=finding.stage,
        priority=words.priority,
        kind=finding.kind,
        title=words.title,
        advice=words.advice,
        saving_ms=_saving(saving) if saving else None,
        share_of_active=ledger.share(saving.expected_ns) if saving else None,
        evidence=[_evidence(found) for found in finding.evidence],
        must_still_hold=words.must_still_hold,
        not_when=words.not_when,
        verify=words.verify,
        source=words.source,
        caveats=list(finding.caveats),
    )


def _saving(saving: Saving) -> SavingRow:
    return SavingRow(ms(saving.low_ns), ms(saving.expected_ns), ms(saving.high_ns))


def _evidence(found: Evidence) -> EvidenceRow:
    trace_id, span_id = found.span
    return EvidenceRow(trace_id or None, span_id or None, ms(found.ns), found.what)
