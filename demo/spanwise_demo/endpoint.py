"""The model that the agent talks to: the local one with declared latency, or a real endpoint."""

from __future__ import annotations

import json
import os
import urllib.request
from dataclasses import asdict, dataclass

from openai import AsyncOpenAI

from spanwise_demo.agent.model import Model
from spanwise_demo.model.deployment import Settings
from spanwise_demo.model.latency import Latency
from spanwise_demo.process import Process
from spanwise_demo.scenarios.plan import Plan
from spanwise_demo.weather import Weather

LOCAL_MODEL = "local-mini"
_RETRIES = 5


@dataclass(frozen=True, slots=True)
class Remote:
    """A real endpoint; the key comes from OPENAI_API_KEY, as the SDK reads it."""

    base_url: str
    model: str

    @property
    def label(self) -> str:
        """What ran, for the output."""
        return self.base_url

    def model_for(self, plan: Plan, _: Weather) -> Model:
        """The same model for every plan: what it does is not ours to plan."""
        client = AsyncOpenAI(base_url=self.base_url, max_retries=_RETRIES)
        return Model(client, self.model, plan.behaviour.tier)

    def close(self) -> None:
        """Nothing of ours runs there."""


class Local:
    """The model service of the demo in its own process; every conversation has its own deployment."""

    label = "local"

    def __init__(self) -> None:
        self._process = Process("spanwise_demo.model")
        self._process.launch()
        self._url: str = self._process.said()["url"]

    def model_for(self, plan: Plan, weather: Weather) -> Model:
        """A new deployment that behaves as planned."""
        settings = Settings(weather.seed, Latency(factor=weather.latency), plan.faults, plan.tiers)
        request = urllib.request.Request(f"{self._url}/deployments", json.dumps(asdict(settings)).encode())  # noqa: S310 - loopback
        with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310 - loopback
            name = json.loads(response.read())["id"]
        client = AsyncOpenAI(base_url=f"{self._url}/{name}/v1", api_key="local", max_retries=_RETRIES)
        return Model(client, LOCAL_MODEL, plan.behaviour.tier)

    def close(self) -> None:
        """Ends the service."""
        self._process.stop()


Endpoint = Local | Remote


def endpoint(base_url: str | None, model: str | None) -> Endpoint:
    """The endpoint that was asked for; ValueError when a real one lacks its model or its key."""
    if base_url is None:
        return Local()
    if model is None:
        raise ValueError("--base-url needs --model")
    if not os.environ.get("OPENAI_API_KEY"):
        raise ValueError("--base-url needs OPENAI_API_KEY in the environment")
    return Remote(base_url, model)
