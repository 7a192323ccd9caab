"""Scenarios of tools: their catalogue, their results, their order, their time.

Five tools instead of twenty were 16.8 % faster, two functions in one round 28.2 %; one service returned twenty fields
where two were needed, another a whole log as base64.
"""

from __future__ import annotations

from spanwise_demo.agent.case import Task, Turn
from spanwise_demo.scenarios.plan import OPENING, Plan, Scenario
from spanwise_demo.servers.settings import Settings

_AGAIN = Turn("Is customer {customer} still allowed to return order {order}?", (Task.PERMISSION,))
_INDEPENDENT = ("get_order", "check_permission", "track_shipment", "list_policies", "estimate_return")
_ONE_TURN = Plan(turns=(OPENING,))


def _catalogue(plan: Plan, strength: float) -> Plan:
    return plan.built(whole_catalogue=True).but(orders=Settings(extra_tools=round(15 * strength)))


def _verbose(plan: Plan, strength: float) -> Plan:
    return plan.but(orders=Settings(wording=round(180 * strength)), logistics=Settings(wording=round(180 * strength)))


def _fat(plan: Plan, strength: float) -> Plan:
    return plan.but(orders=Settings(order_kib=round(40 * strength)))


def _image(plan: Plan, strength: float) -> Plan:
    return plan.but(logistics=Settings(photo_kib=round(40 * strength)))


def _slow_ones(strength: float) -> Plan:
    slow = Settings(handler_ms=450 * strength)
    return _ONE_TURN.but(orders=slow, logistics=slow)


def _serial(plan: Plan, strength: float) -> Plan:
    slow = Settings(handler_ms=450 * strength)
    return plan.built(dispatch_together=False).but(orders=slow, logistics=slow)


def _rounds(plan: Plan, strength: float) -> Plan:
    count = min(max(round(3 * strength), 2), len(_INDEPENDENT))
    return plan.built(parallel_tool_calls=False).but(tools=_INDEPENDENT[:count])


def _slow(plan: Plan, strength: float) -> Plan:
    return plan.but(logistics=Settings(handlers_ms={"estimate_return": 2800 * strength}))


def _flaky(plan: Plan, strength: float) -> Plan:
    return plan.but(orders=Settings(handlers_ms={"get_order": 400 * strength}, failures={"get_order": 2}))


def _repeated(plan: Plan, strength: float) -> Plan:
    return plan.built(remember=False).but(orders=Settings(handlers_ms={"check_permission": 180 * strength}))


SCENARIOS = (
    Scenario("big-catalogue", "narrow-tool-catalogue", Plan(), _catalogue),
    Scenario("verbose-definitions", "slim-tool-definitions", Plan(), _verbose),
    Scenario("fat-result", "slim-results", Plan(), _fat),
    Scenario("image-result", "slim-results", Plan(), _image),
    Scenario("serial-tools", "overlap-tool-calls", _slow_ones(1.0), _serial),
    Scenario("extra-rounds", "merge-model-rounds", _ONE_TURN.but(tools=_INDEPENDENT[:3]), _rounds),
    Scenario("slow-tool", "slow-tool-work", Plan(), _slow),
    Scenario("flaky-tool", "reduce-retries", Plan(), _flaky),
    Scenario("repeated-query", "cache-tool-results", Plan(turns=(_AGAIN,) * 4), _repeated),
)
