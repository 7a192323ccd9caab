"""How big a value is on the wire, and about how many tokens that makes."""

from __future__ import annotations

import json
from typing import Any

from spanwise.safety import let_through

BYTES_PER_TOKEN = 4  # the usual rule of thumb; the service's own count wins wherever it is known


def tokens(nbytes: int) -> int:
    """Estimated tokens of ``nbytes`` of text: at least one where there is any."""
    return max(1, nbytes // BYTES_PER_TOKEN) if nbytes > 0 else 0


def json_bytes(obj: Any) -> int:
    """UTF-8 bytes of ``obj`` as compact JSON."""
    return len(encoded(obj))


def encoded(obj: Any) -> bytes:
    """``obj`` as compact JSON in UTF-8; what JSON does not know is written by its type's name.

    Models of pydantic are written as they go over the wire: without unset fields, by their aliases. A value that
    JSON cannot write at all (it holds itself, is nested too deep) is written by the name of its type, and so is
    only the one among several.
    """
    try:
        return _written(obj)
    except Exception as error:  # noqa: BLE001 - cycles, depth, odd keys, and whatever a program's own objects raise
        let_through(error)
        return _members(obj)


def _written(obj: Any) -> bytes:
    return _encode(obj).encode("utf-8", "surrogatepass")


def _members(obj: Any) -> bytes:
    if type(obj) is dict:
        pairs = (_or_name(key if isinstance(key, str) else type(key)) + b":" + _or_name(obj[key]) for key in obj)
        return b"{" + b",".join(pairs) + b"}"
    if type(obj) in (list, tuple):
        return b"[" + b",".join(map(_or_name, obj)) + b"]"
    return _written(type(obj).__name__)


def _or_name(obj: Any) -> bytes:
    try:
        return _written(obj)
    except Exception as error:  # noqa: BLE001 - as above
        let_through(error)
        return _written(type(obj).__name__)


def _plain(obj: Any) -> Any:
    dump = getattr(obj, "model_dump", None)
    if dump is not None and not isinstance(obj, type):
        return dump(mode="json", by_alias=True, exclude_unset=True)
    return obj.__name__ if isinstance(obj, type) else type(obj).__name__


# Made once: json.dumps would build an encoder for each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode
