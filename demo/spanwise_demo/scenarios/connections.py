"""Scenarios of MCP sessions and lists.

Opening a session and discovering tools took 1,016 ms on average where a whole task took 3,061 ms. A newer client waits
ten seconds, fixed, for the refusal of an old server; here it is a tenth of that.
"""

from __future__ import annotations

from spanwise_demo.agent.behaviour import Sessions
from spanwise_demo.agent.case import Task, Turn
from spanwise_demo.scenarios.plan import Plan, Scenario
from spanwise_demo.servers.settings import Settings

_STATUS = Turn("What about order {order} of customer {customer}?", (Task.LOOK_UP,))
_RIGHT = Turn("May customer {customer} return order {order}?", (Task.PERMISSION,))
_PARCEL = Turn("When would parcel {parcel} of order {order} be collected?", (Task.ARRANGE,))


def _each_task(plan: Plan, strength: float) -> Plan:
    return plan.built(sessions=Sessions.EACH_TASK).but(orders=Settings(startup_ms=300 * strength))


def _cold(plan: Plan, strength: float) -> Plan:
    return plan.built(sessions=Sessions.FIRST_TASK).but(orders=Settings(startup_ms=900 * strength))


def _relist(plan: Plan, strength: float) -> Plan:
    return plan.built(relist=True).but(orders=Settings(list_ms=350 * strength))


def _probe(plan: Plan, strength: float) -> Plan:
    return plan.built(protocol="auto").but(logistics=Settings(legacy_ms=1000 * strength))


SCENARIOS = (
    Scenario("healthy", None, Plan(), lambda plan, _: plan),
    Scenario("session-per-task", "reuse-mcp-session", Plan(turns=(_STATUS, _RIGHT, _STATUS)), _each_task),
    Scenario("cold-server", "prewarm-server", Plan(), _cold),
    Scenario("relist-every-turn", "honour-list-ttl", Plan(turns=(_STATUS, _RIGHT, _PARCEL, _STATUS)), _relist),
    Scenario(
        "legacy-probe",
        "pin-protocol-version",
        Plan(logistics=Settings(legacy_ms=0.0)).built(protocol="legacy"),
        _probe,
    ),
)
