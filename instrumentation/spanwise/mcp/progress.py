"""Counting progress messages on their way to the caller's callback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.mcp.call import Call

_CALLBACK = "on_progress"


def counting(call: Call, options: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """``options`` of a request, with its progress callback counted on ``call``."""
    callback = (options or {}).get(_CALLBACK)
    if options is None or callback is None:
        return options

    async def counted(*args: Any, **kwargs: Any) -> Any:
        call.progress += 1
        return await callback(*args, **kwargs)

    return {**options, _CALLBACK: counted}
