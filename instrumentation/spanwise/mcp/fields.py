"""Fields that several answers share, and one spelling of a value for comparing it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opentelemetry.util.types import AttributeValue

from spanwise import semconv, sizes


def caching(result: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """How long and for whom the server lets the client keep an answer."""
    found: dict[str, AttributeValue] = {}
    ttl, scope = result.get("ttlMs"), result.get("cacheScope")
    if isinstance(ttl, int | float) and not isinstance(ttl, bool):
        found[semconv.MCP_TTL_MS] = max(0, int(ttl))
    if isinstance(scope, str):
        found[semconv.MCP_CACHE_SCOPE] = scope
    return found


# Made once: json.dumps would build an encoder for each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=str).encode


def canonical(value: Any) -> bytes:
    """``value`` as JSON whose bytes do not depend on the order of its keys."""
    try:
        text = _encode(value)
    except (ValueError, TypeError, RecursionError):  # the SDK will not be able to send it either
        return sizes.encoded(value)
    return text.encode("utf-8", "surrogatepass")
