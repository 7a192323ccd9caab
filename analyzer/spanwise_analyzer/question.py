"""What may be asked of the API: query parameters, checked, and turned into the store's filters."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from spanwise.stages import Stage
from spanwise_analyzer import moment
from spanwise_collector.store import Dimension, LedgerFilter

_LONGEST_MS = 2**63 / 1e6 - 1


def _moment(text: str) -> str:
    moment.parse(text, now_ns=0)
    return text


Moment = Annotated[str, AfterValidator(_moment), Field(description="RFC 3339, or an age such as -1h", examples=["-1h"])]
Name = Annotated[str, Field(min_length=1, max_length=1024)]


class Window(BaseModel):
    """A span of time, by the start of conversations: ``since`` is included, ``until`` is not."""

    model_config = ConfigDict(extra="forbid")

    since: Moment | None = None
    until: Moment | None = None


class Selection(Window):
    """Which conversations."""

    service: Name | None = None
    agent: Name | None = None
    model: Name | None = None
    tool: Name | None = None
    server: Name | None = None
    stage: Stage | None = None
    status: Literal["ok", "error", "open"] | None = None
    min_active_ms: Annotated[float, Field(ge=0, le=_LONGEST_MS, allow_inf_nan=False)] | None = None


class ListQuestion(Selection):
    """One page of the conversation list."""

    sort: Literal["started", "active"] = "started"
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    cursor: Annotated[str, Field(max_length=4096)] | None = None


class AttributionQuestion(Selection):
    """Where the time of the selected conversations went, by one or more dimensions."""

    group_by: Annotated[str, Field(description="comma-separated", examples=["stage,model"])] = "stage"


def window(asked: Window) -> LedgerFilter:
    """The store's filter for a span of time."""
    now = time.time_ns()
    return LedgerFilter(since_ns=_ns(asked.since, now), until_ns=_ns(asked.until, now))


def selection(asked: Selection) -> LedgerFilter:
    """The store's filter for a selection."""
    within = window(asked)
    return LedgerFilter(
        since_ns=within.since_ns,
        until_ns=within.until_ns,
        service=asked.service,
        agent=asked.agent,
        model=asked.model,
        tool=asked.tool,
        server=asked.server,
        stage=asked.stage,
        status=asked.status,
        # Rounded up, so that a conversation of exactly the asked length is in and a shorter one is not.
        min_active_ns=None if asked.min_active_ms is None else math.ceil(asked.min_active_ms * 1e6),
    )


def dimensions(group_by: str) -> Sequence[Dimension]:
    """The dimensions asked for, once each; ``ValueError`` names an unknown one."""
    asked = list(dict.fromkeys(name.strip() for name in group_by.split(",")))
    known: tuple[Dimension, ...] = get_args(Dimension)
    chosen = [name for name in known if name in asked]
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is none of {', '.join(known)}")
    return sorted(chosen, key=asked.index)


def _ns(text: str | None, now_ns: int) -> int | None:
    return None if text is None else moment.parse(text, now_ns=now_ns)
