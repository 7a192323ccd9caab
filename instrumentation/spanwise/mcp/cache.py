"""Answers that the client takes from its own cache: nothing goes over the wire, and the span says so."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from spanwise.mcp import connection
from spanwise.mcp.call import Call
from spanwise.mcp.patch import Patches
from spanwise.safety import guarded


def install(patches: Patches) -> None:
    """Watch the cache being read."""
    patches.wrap("mcp.client.caching:ClientResponseCache", "read", _read)


async def _read(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    start_ns = time.time_ns()
    found = await wrapped(*args, **kwargs)
    if found is not None:
        _hit(instance, start_ns, found, *args, **kwargs)
    return found


@guarded
def _hit(cache: Any, start_ns: int, found: Any, method: str, params_key: str) -> None:
    owner = connection.caches.get(cache) or connection.Connection(ready=True)
    with Call(owner, method, start_ns=start_ns) as call:
        call.hit = True
        call.params = _params(params_key)
        call.result = found.model_dump(by_alias=True, mode="json", exclude_none=True)


def _params(key: str) -> Mapping[str, Any]:
    # The cache keeps only the first page of a list, under an empty key, and a resource under its URI.
    return {"uri": key} if key else {}
