"""The trace context in a message's ``_meta``: ours where the caller has put none there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.propagate import inject

from spanwise import context

META: Final = "_meta"


def with_context(params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """``params`` with the current trace context; whatever the caller has put into their ``_meta`` stays."""
    carried: dict[str, Any] = {}
    inject(carried, context.writable())
    if not carried:
        return params
    given = (params or {}).get(META) or {}
    return {**(params or {}), META: {**carried, **given}}
