"""Where a conversation takes place: the shop's MCP servers, started as the plan wants them."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

import anyio.to_thread
from mcp import StdioServerParameters

from spanwise_demo.agent.behaviour import Behaviour, Sessions
from spanwise_demo.agent.sessions import Address, Open, Session, session
from spanwise_demo.process import Process
from spanwise_demo.scenarios.plan import Plan
from spanwise_demo.servers.settings import Settings
from spanwise_demo.weather import Weather

_MODULES = "spanwise_demo.servers"


@dataclass(frozen=True, slots=True)
class Premises:
    """Sessions that are open before the customer comes, and addresses of servers that the agent opens itself."""

    kept: Open
    addresses: Mapping[str, Address]


@dataclass(frozen=True, slots=True)
class Standing:
    """Sessions to servers with default settings, open for as long as the agent's process runs, in one weather."""

    sessions: Open
    weather: Weather | None = None

    def serves(self, name: str, plan: Plan, weather: Weather) -> bool:
        """Whether this plan needs nothing else of the server than what stands."""
        settings = {"orders": plan.orders, "logistics": plan.logistics}.get(name, Settings())
        return name in self.sessions and weather == self.weather and settings == Settings()


@asynccontextmanager
async def standing(weather: Weather, environment: Mapping[str, str]) -> AsyncIterator[Standing]:
    """Opens them; a process that serves many customers does so once."""
    async with premises(Plan(), weather, environment, Standing({})) as here:
        yield Standing(here.kept, weather)


@asynccontextmanager
async def premises(
    plan: Plan, weather: Weather, environment: Mapping[str, str], stands: Standing
) -> AsyncIterator[Premises]:
    """Starts what this plan needs beyond what stands, and ends it when the conversation is over."""
    later = _later(plan.behaviour)
    names = ["orders", "logistics", *(["stock"] if weather.extra_server else [])]
    there = {name for name in names if stands.serves(name, plan, weather)} - later
    async with AsyncExitStack() as stack:
        to_start = {name: _settings(name, plan, weather) for name in names if name not in there}
        addresses = await _start(stack, to_start, environment)
        kept: dict[str, Session] = {}
        for name in names:
            if name in there:
                kept[name] = stands.sessions[name]
            elif name not in later:
                kept[name] = await stack.enter_async_context(session(addresses[name]))
        yield Premises(kept, {name: addresses[name] for name in names if name in later})


async def _start(
    stack: AsyncExitStack, to_start: Mapping[str, Settings], environment: Mapping[str, str]
) -> dict[str, Address]:
    """Addresses of servers; those that listen on a port start side by side."""
    running = {name: _web(name, settings, environment) for name, settings in to_start.items() if name != "orders"}
    for process in running.values():
        stack.push_async_callback(anyio.to_thread.run_sync, process.stop)
        process.launch()
    said = {name: (await anyio.to_thread.run_sync(process.said))["url"] for name, process in running.items()}
    orders = {"orders": _orders(to_start["orders"], environment)} if "orders" in to_start else {}
    return {**orders, **said}


def _later(behaviour: Behaviour) -> set[str]:
    """Servers whose sessions the agent opens within the conversation."""
    orders = behaviour.sessions is not Sessions.KEPT
    return {*(["orders"] if orders else []), *(["logistics"] if behaviour.protocol else [])}


def _web(name: str, settings: Settings, environment: Mapping[str, str]) -> Process:
    return Process(f"{_MODULES}.{name}", [settings.argument()], environment=environment)


def _orders(settings: Settings, environment: Mapping[str, str]) -> StdioServerParameters:
    arguments = ["-m", f"{_MODULES}.orders", settings.argument()]
    return StdioServerParameters(command=sys.executable, args=arguments, env=dict(environment))


def _settings(name: str, plan: Plan, weather: Weather) -> Settings:
    planned = {"orders": plan.orders, "logistics": plan.logistics}.get(name, Settings())
    return replace(planned.scaled(weather.latency), seed=weather.seed)
