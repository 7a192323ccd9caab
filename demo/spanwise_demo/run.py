"""One conversation from the first process to the last span."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping
from dataclasses import replace

from spanwise_demo.agent.case import Case, numbers
from spanwise_demo.agent.support import Support
from spanwise_demo.endpoint import Endpoint
from spanwise_demo.premises import Standing, premises
from spanwise_demo.scenarios.plan import Plan
from spanwise_demo.weather import Weather


async def run(
    plan: Plan, weather: Weather, endpoint: Endpoint, environment: Mapping[str, str], stands: Standing
) -> str:
    """Plays the plan against these servers; the conversation's id, which says nothing of what was planned."""
    case = _case(plan, weather)
    model = endpoint.model_for(plan, weather)
    behaviour = replace(plan.behaviour, screening_ms=plan.behaviour.screening_ms * weather.latency)
    async with model.client, premises(plan, weather, environment, stands) as here:
        await Support(case, behaviour, model, here.kept, here.addresses).serve()
    return case.conversation_id


def _case(plan: Plan, weather: Weather) -> Case:
    return Case(
        conversation_id=f"c-{uuid.uuid4().hex[:12]}",
        turns=plan.turns,
        tools=plan.tools,
        photos=plan.photos,
        pages=plan.pages,
        reference_words=plan.reference_words,
        **numbers(random.Random(repr((plan, weather)))),  # noqa: S311 - made-up numbers
    )
