"""How big a value is on the wire, and about how many tokens that makes."""

from __future__ import annotations

import json
from typing import Any

BYTES_PER_TOKEN = 4  # the usual rule of thumb; the service's own count wins wherever it is known


def tokens(nbytes: int) -> int:
    """Estimated tokens of ``nbytes`` of text: at least one where there is any."""
    return max(1, nbytes // BYTES_PER_TOKEN) if nbytes > 0 else 0


def json_bytes(obj: Any) -> int:
    """UTF-8 bytes of ``obj`` as compact JSON."""
    return len(encoded(obj))


def encoded(obj: Any) -> bytes:
    """``obj`` as compact JSON in UTF-8; what JSON does not know is written by its type's name.

    Models of pydantic are written as they go over the wire: without unset fields, by their aliases.
    """
    return _encode(obj).encode("utf-8", "surrogatepass")


def _plain(obj: Any) -> Any:
    dump = getattr(obj, "model_dump", None)
    if dump is not None and not isinstance(obj, type):
        return dump(mode="json", by_alias=True, exclude_unset=True)
    return obj.__name__ if isinstance(obj, type) else type(obj).__name__


# Made once: json.dumps would build an encoder for each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode
