"""Two lines that make an LLM agent with MCP tools emit the OpenTelemetry spans that explain its latency."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spanwise.function import tool as tool
    from spanwise.handover import environment as environment
    from spanwise.installation import instrument as instrument
    from spanwise.installation import uninstrument as uninstrument
    from spanwise.marks import conversation as conversation
    from spanwise.marks import outcome as outcome
    from spanwise.marks import stage as stage
    from spanwise.marks import step as step
    from spanwise.marks import turn as turn
    from spanwise.trial import experiment as experiment

__all__ = [
    "conversation",
    "environment",
    "experiment",
    "instrument",
    "outcome",
    "stage",
    "step",
    "tool",
    "turn",
    "uninstrument",
]

# Loaded on first use: a server-side reader of names and stages needs none of the SDK.
_HOMES = {
    "instrument": "spanwise.installation",
    "uninstrument": "spanwise.installation",
    "environment": "spanwise.handover",
    "experiment": "spanwise.trial",
    "tool": "spanwise.function",
} | dict.fromkeys(("conversation", "outcome", "stage", "step", "turn"), "spanwise.marks")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("spanwise.propagators").load()
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
