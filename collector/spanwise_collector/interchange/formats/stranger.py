"""Files that look like traces and are none: what they are, and why no span can be made of them."""

from __future__ import annotations

from typing import Any, Final

from spanwise_collector.interchange.formats.format import keys

_KNOWN: Final = (
    (
        {"schema_version", "agent", "steps"},
        "an ATIF trajectory: each step has one time and none a duration, so model and tool time cannot be told apart",
    ),
    (
        {"eval", "plan", "samples"},
        "an Inspect evaluation log, whose events are no spans; run the evaluation with a tracer",
    ),
    ({"runId", "models", "results"}, "a summary of runs: durations without the spans that they consist of"),
)


def introduced(document: Any) -> str | None:
    """What the document is, for a person; None for an utter stranger."""
    return next((what for names, what in _KNOWN if names <= keys(document)), None)
