"""Bodies that are almost requests: real ones with bytes changed, moved, lost and repeated."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

from benchmarks.agentlike import request
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.collector.otlpjson import document

Damage = Callable[[bytearray, random.Random], None]

_ODD: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    2**70,
    1e400,
    "",
    "0" * 33,
    "\ud83e",
    [],
    [None],
    {},
    {"values": [{}]},
    {"key": "a", "value": {"stringValue": 1}},
)
_KEYS: Final = ("traceId", "value", "intValue", "doubleValue", "arrayValue", "bytesValue", "kvlistValue", "unknown")


def requests(count: int) -> list[bytes]:
    """Small requests as an agent sends them."""
    return [request(16, seed=seed) for seed in range(count)]


def documents(count: int) -> list[bytes]:
    """The same in JSON."""
    return [json.dumps(document(ExportTraceServiceRequest.FromString(body))).encode() for body in requests(count)]


def damaged(body: bytes, chance: random.Random) -> bytes:
    """With one to four places changed."""
    changed = bytearray(body)
    for _ in range(chance.randint(1, 4)):
        chance.choice(_DAMAGES)(changed, chance)
    return bytes(changed)


def odd(body: bytes, chance: random.Random) -> bytes:
    """A document with up to three of its values replaced, as valid JSON."""
    whole = json.loads(body)
    for _ in range(chance.randint(1, 3)):
        _replace(whole, chance)
    return json.dumps(whole).encode()


def _replace(found: Any, chance: random.Random) -> None:
    while True:
        keys = list(found) if isinstance(found, dict) else list(range(len(found)))
        if not keys:
            return
        key = chance.choice(keys)
        if not isinstance(found[key], dict | list) or chance.random() < 0.1:
            break
        found = found[key]
    if isinstance(found, dict) and chance.random() < 0.3:
        found[chance.choice(_KEYS)] = found.pop(key)
    else:
        found[key] = deepcopy(chance.choice(_ODD))


def _flip(body: bytearray, chance: random.Random) -> None:
    if body:
        body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)


def _set(body: bytearray, chance: random.Random) -> None:
    if body:
        body[chance.randrange(len(body))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x12, 0x22, 0x7B, 0x5B))


def _insert(body: bytearray, chance: random.Random) -> None:
    at = chance.randint(0, len(body))
    body[at:at] = chance.randbytes(chance.randint(1, 8))


def _delete(body: bytearray, chance: random.Random) -> None:
    at = chance.randint(0, len(body))
    del body[at : at + chance.randint(1, 16)]


def _repeat(body: bytearray, chance: random.Random) -> None:
    start = chance.randint(0, len(body))
    at = chance.randint(0, len(body))
    body[at:at] = body[start : start + chance.randint(1, 200)]


def _truncate(body: bytearray, chance: random.Random) -> None:
    del body[chance.randint(0, len(body)) :]


_DAMAGES: Final[tuple[Damage, ...]] = (_flip, _flip, _set, _set, _insert, _delete, _repeat, _truncate)
