"""Scenarios of model calls and of what is sent to the model.

Compact answers were 26.0 % faster, a warm prefix 14.9 %, low image detail 17.8 %, extracted text instead of the PDF
17.2 %, three pages at once 56.8 %; requests for a tier that the model does not have came back as ``default``.
"""

from __future__ import annotations

from spanwise_demo.agent.case import Task, Turn
from spanwise_demo.model.deployment import Fault
from spanwise_demo.scenarios.plan import CLOSING, OPENING, Plan, Scenario

_LETTER = Turn("Please write to me about order {order}.", (Task.UNDERSTAND, Task.WRITE))
_TEXTS = Turn("Please answer my letter about order {order}.", (Task.SORT, Task.WRITE, Task.PROOFREAD))
_PHOTOS = Turn("Order {order} came like this, see the photographs.", (Task.UNDERSTAND, Task.LOOK))
_INVOICE = Turn("Here is the invoice of order {order}, parcel {parcel}.", (Task.UNDERSTAND, Task.READ))
_PAGES = Turn("Here are my statements on order {order}.", (Task.UNDERSTAND, Task.PAGES))
_SCREENED = Turn(OPENING.says, (Task.UNDERSTAND, Task.SCREEN, Task.REVIEW))
_HANDBOOK_WORDS = 1900
_BRIEF_WORDS = 55  # what a brief reply has


def _long(plan: Plan, strength: float) -> Plan:
    return plan.built(detailed_words=_BRIEF_WORDS + round(120 * strength))


def _breaker(plan: Plan, strength: float) -> Plan:
    return plan.built(marker_first=True).but(reference_words=round(_HANDBOOK_WORDS * strength))


def _limited(plan: Plan, strength: float) -> Plan:
    return plan.but(faults=(Fault(at=3, times=2, status=429, retry_after_ms=round(700 * strength)),))


def _detail(plan: Plan, strength: float) -> Plan:
    return plan.built(image_detail="high").but(photos=max(round(2 * strength), 1))


def _pdf(plan: Plan, strength: float) -> Plan:
    return plan.built(send_pdf=True).but(pages=round(6 * strength))


def _sequential(plan: Plan, strength: float) -> Plan:
    return plan.built(pages_together=False).but(pages=max(round(3 * strength), 2))


def _mismatch(plan: Plan, _: float) -> Plan:
    return plan.but(tiers=("default",))


def _gap(plan: Plan, strength: float) -> Plan:
    return plan.built(screening_traced=False, screening_ms=2600 * strength)


SCENARIOS = (
    Scenario("long-output", "trim-output", Plan(turns=(_LETTER, CLOSING)), _long),
    Scenario(
        "prefix-breaker",
        "stabilise-prompt-prefix",
        Plan(turns=(_TEXTS, _TEXTS), reference_words=_HANDBOOK_WORDS),
        _breaker,
    ),
    Scenario("rate-limited", "reduce-retries", Plan(), _limited),
    Scenario("high-detail-image", "lower-image-detail", Plan(turns=(_PHOTOS, CLOSING), photos=2), _detail),
    Scenario("pdf-instead-of-text", "send-extracted-text", Plan(turns=(_INVOICE, CLOSING), pages=6), _pdf),
    Scenario("sequential-pages", "parallelise-page-requests", Plan(turns=(_PAGES,)), _sequential),
    Scenario("tier-mismatch", "service-tier", Plan().built(tier="priority"), _mismatch),
    Scenario("silent-gap", "instrument-the-gap", Plan(turns=(_SCREENED,)).built(screening_ms=2600.0), _gap),
)
