"""All scenarios, in the order in which the demo shows them."""

from __future__ import annotations

from spanwise_demo.scenarios import calls, connections, tools
from spanwise_demo.scenarios.plan import Scenario

SCENARIOS = (*connections.SCENARIOS, *tools.SCENARIOS, *calls.SCENARIOS)


def named(names: list[str]) -> list[Scenario]:
    """The scenarios of these names, all without names; ValueError names one that does not exist."""
    known = {scenario.name: scenario for scenario in SCENARIOS}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"no scenario {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(SCENARIOS)
