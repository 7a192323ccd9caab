"""The trace context in a message's ``_meta``: ours where the caller has put none there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.propagate import inject

from spanwise import context

META: Final = "_meta"


def carried() -> dict[str, Any]:
    """What names the current trace, as the program's propagators write it."""
    found: dict[str, Any] = {}
    inject(found, context.writable())
    return found


def with_context(params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """``params`` with the current trace context; whatever the caller has put into their ``_meta`` stays."""
    ours = carried()
    if not ours:
        return params
    given = (params or {}).get(META) or {}
    return {**(params or {}), META: {**ours, **given}}
