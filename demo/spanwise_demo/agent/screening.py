"""Screening by a partner's library: it takes its time, and marks nothing by itself."""

from __future__ import annotations

import asyncio

import spanwise
from spanwise_demo.agent.case import Task
from spanwise_demo.agent.work import Done, Work


async def screen(work: Work, _: Task) -> Done:
    """Asks the partner about this customer; a tool span only where somebody thought of it."""
    if not work.behaviour.screening_traced:
        return await _partner(work)
    with spanwise.tool("screen_customer", read_only=True, customer=work.case.customer):
        return await _partner(work)


async def _partner(work: Work) -> Done:
    await asyncio.sleep(work.behaviour.screening_ms / 1000)
    return Done(passed=True)
