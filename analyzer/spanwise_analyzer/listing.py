"""Answers over many conversations, from the store's rows: the list, the attribution, the fleet's recommendations."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.stages import Stage
from spanwise_analyzer.moment import rfc3339
from spanwise_analyzer.problem import Invalid
from spanwise_analyzer.question import ListQuestion, selection
from spanwise_analyzer.shapes import Attribution, AttributionGroup, Conversations, Dominant, NoticeRow, Row, ms
from spanwise_collector.store import AttributionRow, Dimension, LedgerFilter, LedgerPage, LedgerSummary, Reader

_BASIS = {False: "exact", True: "estimated"}
_ESTIMATED = NoticeRow(
    "estimated-from-hours",
    "raw spans of this time are deleted: they count by whole UTC hours, percentiles are within 2 % and over "
    "conversations by hour, so one that runs into the next hour, or under several agents or services, counts for each",
)
_LEFT_OUT = NoticeRow(
    "hours-left-out",
    "conversations whose raw spans are deleted are left out: by hour their status and length are not known",
)


def paged(reader: Reader, asked: ListQuestion) -> Conversations:
    """One page of the list; Invalid if its cursor is none that this list gave."""
    try:
        found = reader.ledgers(selection(asked), sort=asked.sort, limit=asked.limit, cursor=asked.cursor)
    except ValueError as error:
        raise Invalid("cursor", str(error)) from error
    return conversations(found)


def conversations(page: LedgerPage) -> Conversations:
    """A page of the list."""
    return Conversations([_row(row) for row in page.rows], page.next_cursor)


def attributed(reader: Reader, group_by: Sequence[Dimension], filters: LedgerFilter) -> Attribution:
    """Groups, largest first; they tile the active time, so their sum is the total."""
    rows = reader.attribution(group_by, filters)
    estimated = any(row.estimated for row in rows)
    notices = [_ESTIMATED] if estimated else [_LEFT_OUT] if filters.single and reader.outlived(filters) else []
    total = ms(sum(row.ns for row in rows))
    return Attribution(list(group_by), total, [_group(row) for row in rows], _BASIS[estimated], notices)


def _row(row: LedgerSummary) -> Row:
    return Row(
        conversation_id=row.conversation_id,
        service=row.service,
        agent=row.agent,
        started_at=rfc3339(row.started_ns),
        turns=row.turns,
        status=row.status,
        active_ms=ms(row.active_ns),
        dominant=_dominant(row),
        recommendation=row.recommendation,
    )


def _dominant(row: LedgerSummary) -> Dominant | None:
    if row.dominant_stage is None or not row.active_ns:
        return None
    stage = Stage(row.dominant_stage)
    return Dominant(stage, stage.group, ms(row.dominant_ns), row.dominant_ns / row.active_ns)


def _group(row: AttributionRow) -> AttributionGroup:
    stage = row.group.get("stage")
    return AttributionGroup(
        stage=stage,
        group=Stage(stage).group if stage else None,
        model=row.group.get("model"),
        tool=row.group.get("tool"),
        server=row.group.get("server"),
        service=row.group.get("service"),
        agent=row.group.get("agent"),
        ms=ms(row.ns),
        share=row.share,
        p50_ms=row.p50_ns / 1e6,
        p95_ms=row.p95_ns / 1e6,
        p99_ms=row.p99_ns / 1e6,
        conversations=row.conversations,
        segments=row.segments,
    )
