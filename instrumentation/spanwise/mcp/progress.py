"""Counting progress messages on their way to the caller's callback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.mcp.call import Call


def counting(call: Call, options: Mapping[str, Any] | None, key: str = "on_progress") -> Mapping[str, Any] | None:
    """``options`` of a request, with the progress callback under ``key`` counted on ``call``."""
    callback = (options or {}).get(key)
    if options is None or callback is None:
        return options

    async def counted(*args: Any, **kwargs: Any) -> Any:
        call.progress += 1
        return await callback(*args, **kwargs)

    return {**options, key: counted}
