"""OTLP protobuf: a serialized trace request, bare or behind its length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spanwise_collector.interchange.formats.format import Format
from spanwise_collector.interchange.piece import PROTOBUF, Body

_RESOURCE_SPANS: Final = b"\x0a"


def _fits(body: bytes) -> bool:
    return not body or body.startswith(_RESOURCE_SPANS)


def _bodies(body: bytes) -> Iterator[Body]:
    yield Body(body, PROTOBUF)


FORMAT = Format("OTLP protobuf", _fits, _bodies)
