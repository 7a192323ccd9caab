"""Keyed hashes: equal values can be seen to be equal, and nothing can be guessed from them."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanwise.safety import let_through

KEY_VARIABLE = "SPANWISE_HASH_KEY"
MAX_LEAVES = 64
MAX_LEAF_LENGTH = 512  # a leaf longer than this is a document, not a value that is passed on
_MIN_LEAF_LENGTH = 3  # one or two characters recur everywhere and connect nothing
_MAX_VISITED = 4096
_SIZE = 8


@dataclass(frozen=True, slots=True)
class Key:
    """A secret and the id under which its hashes compare."""

    secret: bytes
    id: str


_random = secrets.token_bytes(32)
_tenant = ""
_keys: dict[tuple[str, str], Key] = {}


def scope(tenant: str | None) -> None:
    """Hash under a key of this tenant from now on: values of two tenants never compare."""
    global _tenant  # noqa: PLW0603 - one process has one instrumentation
    _tenant = tenant or ""


def tenant_hash() -> str | None:
    """The tenant that hashes are scoped to, itself hashed; None where there is none."""
    return hashed(_tenant) if _tenant else None


def hashed(value: str | bytes) -> str:
    """16 hex digits, equal for equal values of one key."""
    return _digest(_bytes(value), _key().secret)


def key_id() -> str:
    """Names the key; hashes are comparable only under one id."""
    return _key().id


def leaves(obj: Any, limit: int = MAX_LEAVES) -> list[str]:
    """Hashes of the distinct scalar leaves of a JSON value, in order, at most ``limit``.

    Booleans, nulls and values of one or two characters are left out: they connect nothing.
    """
    found: dict[str, None] = {}
    for text in _texts(obj):
        found.setdefault(text)
        if len(found) >= limit:
            break
    secret = _key().secret
    return [_digest(_bytes(text), secret) for text in found]


def _bytes(value: str | bytes) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _digest(data: bytes, secret: bytes) -> str:
    return hashlib.blake2b(data, key=secret, digest_size=_SIZE).hexdigest()


def _key() -> Key:
    given = os.environ.get(KEY_VARIABLE, "")
    key = _keys.get((given, _tenant))
    if key is None:
        key = _keys[given, _tenant] = _derived(given.encode() or _random, _tenant)
    return key


def _derived(secret: bytes, tenant: str) -> Key:
    # The key of a tenant is derived, so that one secret serves all and none of them can be computed from another.
    own = hmac.new(secret, b"tenant:" + tenant.encode(), hashlib.sha256).digest()
    return Key(own, hmac.new(own, b"id", hashlib.sha256).hexdigest()[:_SIZE])


def _texts(obj: Any) -> Iterator[str]:
    # Iterative and bounded: a deep or endless value must not cost the program its stack or its time.
    waiting: list[Any] = [obj]
    for _ in range(_MAX_VISITED):
        if not waiting:
            return
        node = waiting.pop()
        children = _children(node)
        if children is not None:
            waiting.extend(reversed(children))
        elif (text := _leaf(node)) is not None:
            yield text


def _children(node: Any) -> list[Any] | None:
    if isinstance(node, Mapping):
        return _first(node.values())
    if isinstance(node, Sequence) and not isinstance(node, str | bytes | bytearray):
        return _first(node)
    return None


def _first(items: Iterable[Any]) -> list[Any]:
    return [item for item, _ in zip(items, range(_MAX_VISITED), strict=False)]


def _leaf(node: Any) -> str | None:
    if isinstance(node, bool) or not isinstance(node, str | int | float):
        return None
    try:
        text = str(node)
    except Exception as error:  # noqa: BLE001 - too many digits, or a program's own class
        let_through(error)
        return None
    return text if _MIN_LEAF_LENGTH <= len(text) <= MAX_LEAF_LENGTH else None
