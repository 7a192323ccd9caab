"""The instrumented agent process, for as long as conversations are played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import spanwise
from spanwise_demo.agent.forms import Request
from spanwise_demo.agent.model import Model
from spanwise_demo.agent.prompts import UNDERSTAND
from spanwise_demo.endpoint import Endpoint
from spanwise_demo.premises import Standing, standing
from spanwise_demo.run import run
from spanwise_demo.scenarios.plan import Plan
from spanwise_demo.weather import Weather

SERVICE = "support-agent"
# Servers of a conversation are ended with it, and send what is left then; this is for those who look in between.
_SEND_EVERY_MS = "500"


@dataclass(frozen=True, slots=True)
class Venue:
    """Plays plans one at a time or together."""

    endpoint: Endpoint
    environment: Mapping[str, str]
    stands: Standing

    async def play(self, plan: Plan, weather: Weather) -> str:
        """One conversation; its id."""
        return await run(plan, weather, self.endpoint, self.environment, self.stands)


@asynccontextmanager
async def venue(chosen: Endpoint, otlp: str, weather: Weather) -> AsyncIterator[Venue]:
    """Instruments this process and opens what stands in this weather; afterwards all spans have been sent."""
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": otlp, "OTEL_BSP_SCHEDULE_DELAY": _SEND_EVERY_MS}
    await _warm(chosen.model_for(Plan(), weather))
    spanwise.instrument(service_name=SERVICE, endpoint=otlp)
    try:
        async with standing(weather, environment) as stands:
            yield Venue(chosen, environment, stands)
    finally:
        await asyncio.to_thread(spanwise.uninstrument)


async def _warm(model: Model) -> None:
    """The SDK loads much at its first call, which is no conversation's fault; a dead endpoint shows here."""
    async with model.client:
        quick = replace(model, client=model.client.with_options(max_retries=1))
        await quick.round([{"role": "user", "content": "Say good morning in at most 3 words."}])
        await quick.extract(Request, UNDERSTAND, "R-100000")
