"""Extracted spans as serialized ExportTraceServiceRequests, bounded in spans and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from spanwise_collector.otlp.encode import encode
from spanwise_collector.store import Extract

_SPANS: Final = 512
_BYTES: Final = 4 * 2**20
_LENGTH_DELIMITED: Final = 2
_CONTINUED: Final = 0x80


class _Row(NamedTuple):
    resource: int
    scope: int
    span: bytes


def requests(extract: Extract) -> Iterator[bytes]:
    """Requests of up to 512 spans or about 4 MiB, in the order of the extract, whatever the size of its tables.

    In each, spans stand below one ResourceSpans for each resource and one ScopeSpans for each scope of it, in the order
    in which these first occur.
    """
    waiting: list[_Row] = []
    nbytes = 0
    for row in _rows(extract):
        if waiting and (len(waiting) == _SPANS or nbytes + len(row.span) > _BYTES):
            yield _request(waiting, extract)
            waiting, nbytes = [], 0
        waiting.append(row)
        nbytes += len(row.span)
    if waiting:
        yield _request(waiting, extract)


def _rows(extract: Extract) -> Iterator[_Row]:
    for table in extract.tables:
        columns = (table["resource_id"].to_pylist(), table["scope_id"].to_pylist(), encode(table).to_pylist())
        yield from map(_Row, *columns)


def _request(rows: Sequence[_Row], extract: Extract) -> bytes:
    scopes: dict[int, dict[int, list[bytes]]] = {}
    for row in rows:
        scopes.setdefault(row.resource, {}).setdefault(row.scope, []).append(row.span)
    return b"".join(_field(1, _resource_spans(number, found, extract)) for number, found in scopes.items())


def _resource_spans(number: int, scopes: dict[int, list[bytes]], extract: Extract) -> bytes:
    parts = [_field(2, _within(extract.scopes[scope], _fields(2, spans))) for scope, spans in scopes.items()]
    return _within(extract.resources[number], b"".join(parts))


def _within(content: tuple[bytes | None, str], parts: bytes) -> bytes:
    """ResourceSpans and ScopeSpans are alike: field 1 is the owner, 2 what it owns, 3 the schema URL."""
    body, url = content
    owner = b"" if body is None else _field(1, body)
    return owner + parts + (_field(3, url.encode()) if url else b"")


def _fields(number: int, payloads: Sequence[bytes]) -> bytes:
    return b"".join(_field(number, payload) for payload in payloads)


def _field(number: int, payload: bytes) -> bytes:
    return bytes([number << 3 | _LENGTH_DELIMITED]) + _varint(len(payload)) + payload


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number >= _CONTINUED:
        digits.append(number % _CONTINUED | _CONTINUED)
        number //= _CONTINUED
    digits.append(number)
    return bytes(digits)
