"""The decision guide at work: all rules on one ledger, ranked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.rules import (
    book,
    cache_tool_results,
    drop_duplicate_structured_result,
    fix_tool_order,
    gates,
    honour_list_ttl,
    instrument_the_gap,
    lower_image_detail,
    merge_model_rounds,
    narrow_tool_catalogue,
    overlap_tool_calls,
    parallelise_page_requests,
    pin_protocol_version,
    prewarm_server,
    reduce_retries,
    reuse_connections,
    reuse_mcp_session,
    saving,
    send_extracted_text,
    service_tier,
    slim_results,
    slim_tool_definitions,
    slow_tool_work,
    stabilise_prompt_prefix,
    timeouts_and_retries,
    tool_search,
    trim_output,
)
from spanwise_analyzer.rules.facts.norms import Norms
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Advice, Finding, SavingKind

Rule: TypeAlias = Callable[[View], Finding | None]

# The order of the guide: measure, remove avoidable work, reuse, remove serial waits, limit tools, platform options.
# It decides only between findings that are equal in saving and priority: there the earlier cure shrinks the later one.
RULES: tuple[Rule, ...] = (
    instrument_the_gap.find,
    trim_output.find,
    slim_results.find,
    drop_duplicate_structured_result.find,
    lower_image_detail.find,
    send_extracted_text.find,
    reduce_retries.find,
    slow_tool_work.find,
    fix_tool_order.find,
    stabilise_prompt_prefix.find,
    reuse_mcp_session.find,
    prewarm_server.find,
    honour_list_ttl.find,
    pin_protocol_version.find,
    reuse_connections.find,
    cache_tool_results.find,
    parallelise_page_requests.find,
    merge_model_rounds.find,
    overlap_tool_calls.find,
    timeouts_and_retries.find,
    narrow_tool_catalogue.find,
    slim_tool_definitions.find,
    tool_search.find,
    service_tier.find,
)
_FIRST = "P1"  # the gap, once it is the long pole: what is not seen cannot be shortened
_LAST = "P6"


def recommend(ledger: Ledger, norms: Norms | None = None) -> Advice:
    """What to change in this conversation, most worthwhile first; the same ledger gives the same advice."""
    view = View(ledger, norms or Norms())
    found = [finding for rule in RULES if (finding := rule(view)) and _worth_saying(ledger, finding)]
    return Advice(sorted(found, key=rank), gates.notices(ledger, view))


def rank(finding: Finding) -> tuple[int, float, float, str]:
    """Sort key: the gap first, platform options last, between them by expected saving, priority as tie-break.

    An external effect ranks with its lower bound, which is zero: what was measured elsewhere comes after what this
    conversation's own spans show. Among themselves externals go by what they would save; a finding without a latency
    claim comes after them.
    """
    priority = book.entry(finding.rule).priority
    place = {_FIRST: 0, _LAST: 2}.get(priority, 1)
    expected = finding.saving.expected_ns if finding.saving else 0
    own = 0 if finding.kind is SavingKind.EXTERNAL else expected
    return place, -own, -expected, priority


def _worth_saying(ledger: Ledger, finding: Finding) -> bool:
    return finding.saving is None or saving.significant(ledger, finding.saving)
