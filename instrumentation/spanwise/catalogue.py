"""What a list of tool definitions weighs, and which list it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.util.types import AttributeValue

from spanwise import hashing, semconv, sizes

_DESCRIPTION = "description"
_MAX_VISITED = 20_000


def catalogue(names: Sequence[str], definitions: Sequence[Any]) -> dict[str, AttributeValue]:
    """Attributes of the tools called ``names``, defined (as JSON) by ``definitions`` in the same order."""
    if not definitions:
        return {semconv.TOOLS_COUNT: 0}
    encoded = [sizes.encoded(definition) for definition in definitions]
    total = sum(map(len, encoded))
    return {
        semconv.TOOLS_COUNT: len(encoded),
        semconv.TOOLS_BYTES: total,
        semconv.TOOLS_TOKENS: sizes.tokens(total),
        semconv.TOOLS_NAMES: list(names),
        semconv.TOOLS_SIZES: [len(data) for data in encoded],
        semconv.TOOLS_DESCRIPTION_BYTES: description_bytes(definitions),
        semconv.TOOLS_NAMES_HASH: hashing.hashed(b"\0".join(sorted(encoded))),
        semconv.TOOLS_ORDER_HASH: hashing.hashed(b"\0".join(encoded)),
        semconv.HASH_KEY_ID: hashing.key_id(),
    }


def description_bytes(definitions: Any) -> int:
    """Bytes of all texts under a ``description`` key, those of parameters included."""
    total, waiting = 0, [definitions]
    for _ in range(_MAX_VISITED):
        if not waiting:
            break
        node = waiting.pop()
        if isinstance(node, Mapping):
            text = node.get(_DESCRIPTION)
            total += len(text.encode("utf-8", "replace")) if isinstance(text, str) else 0
            waiting.extend(node.values())
        elif isinstance(node, list | tuple):
            waiting.extend(node)
    return total
