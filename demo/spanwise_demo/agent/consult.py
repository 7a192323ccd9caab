"""Consultations: the model asks for tools until it can answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

import spanwise
from spanwise_demo.agent import prompts
from spanwise_demo.agent.case import Task
from spanwise_demo.agent.toolbox import Request
from spanwise_demo.agent.work import Done, Work

_MAX_ROUNDS = 8
_TOOLS = {
    Task.LOOK_UP: ("get_order",),
    Task.PERMISSION: ("check_permission",),
    Task.ARRANGE: ("estimate_return",),
    Task.REVIEW: ("get_order", "check_permission", "list_policies", "track_shipment"),
}


async def consult(work: Work, task: Task) -> Done:
    """Rounds of model and tools for this task; RuntimeError when the model never comes to an answer."""
    wanted = (work.case.tools if task is Task.REVIEW else ()) or _TOOLS[task]
    messages = work.opening(prompts.procedure(wanted, work.behaviour.answer_words))
    offered, called = work.toolbox.offered(wanted), set[str]()
    for _ in range(_MAX_ROUNDS):
        said = await work.model.round(messages, tools=offered, parallel_tool_calls=work.behaviour.parallel_tool_calls)
        if not said.requests:
            return Done(called >= set(wanted), said.text, said.tokens)
        called |= {request.name for request in said.requests}
        messages += [said.message(), *await _results(work, said.requests)]
    raise RuntimeError(f"no answer after {_MAX_ROUNDS} rounds")


async def settle(work: Work, _: Task) -> Done:
    """Computes the refund and creates the voucher: decided, so no model is asked."""
    known = work.toolbox.remembered.get(("get_order", json.dumps({"order_id": work.case.order})), "{}")
    cents = refund_cents(price_cents=json.loads(known).get("price_cents", 0), days=14)
    voucher = Request(f"call_{work.case.order}", "create_coupon", json.dumps({"order_id": work.case.order}))
    code = await work.toolbox.call(voucher)
    return Done(passed=cents >= 0 and work.case.order in code)


@spanwise.tool("refund_cents", read_only=True, idempotent=True)
def refund_cents(price_cents: int, days: int) -> int:
    """The refund: the whole price within 30 days, else half of it."""
    return price_cents if days <= 30 else price_cents // 2  # noqa: PLR2004 - the shop's rule


async def _results(work: Work, requests: Sequence[Request]) -> list[dict[str, str]]:
    texts = await work.toolbox.run(requests)
    return [
        {"role": "tool", "tool_call_id": request.id, "content": text}
        for request, text in zip(requests, texts, strict=True)
    ]
