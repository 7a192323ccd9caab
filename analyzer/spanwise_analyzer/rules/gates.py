"""What has to be settled before any saving is believed: the guide's first two steps."""

from __future__ import annotations

from collections.abc import Iterator

from spanwise import semconv
from spanwise.stages import Stage
from spanwise_analyzer.ledger import Ledger
from spanwise_analyzer.role import Role
from spanwise_analyzer.rules import book
from spanwise_analyzer.rules.facts.view import View
from spanwise_analyzer.rules.finding import Notice


def notices(ledger: Ledger, view: View) -> list[Notice]:
    """Notices in the order of the guide: correctness before measurement."""
    return [Notice(code, book.notices()[code]) for code in [*_correctness(ledger), *_measurement(ledger, view)]]


def _correctness(ledger: Ledger) -> Iterator[str]:
    judged = [node.span.flag(semconv.QUALITY_PASSED) for node in ledger.tree.nodes.values() if node.span]
    if all(passed is None for passed in judged):
        yield "define-correct-first"
    elif False in judged:
        yield "correctness-failing"


def _measurement(ledger: Ledger, view: View) -> Iterator[str]:
    if not _named(ledger):
        yield "name-the-conversation"
    if ledger.share(ledger.stage_ns(Stage.UNATTRIBUTED)) > book.constant("gates", "max_unattributed_share"):
        yield "unattributed-time"
    if ledger.share(ledger.stage_ns(Stage.MCP_OPAQUE)) > book.constant("gates", "max_opaque_share"):
        yield "opaque-servers"
    silent = [call for call in view.model_calls if call.input is None]
    if len(silent) > book.constant("gates", "max_missing_usage_share") * len(view.model_calls):
        yield "missing-usage"


def _named(ledger: Ledger) -> bool:
    """Whether the program said anywhere what belongs together: a conversation, or an agent's run."""
    nodes = ledger.tree.nodes.values()
    return any(node.role is Role.AGENT or node.record.text(semconv.GEN_AI_CONVERSATION_ID) for node in nodes)
