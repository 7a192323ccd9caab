"""Request bodies, decompressed within a limit, and answers, compressed where that is wanted."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping
from typing import Any, Final

from spanwise_collector.otlp.decode import Malformed

_IDENTITY: Final = frozenset({"", "identity"})
# 47: gzip or zlib by its header.
_WINDOWS: Final[Mapping[str, int]] = {"gzip": 47, "x-gzip": 47, "deflate": 47}
CODINGS: Final = "gzip, deflate, identity"
# Each member copies what is left of its piece, so both bounds together bound the work.
_PIECE: Final = 65_536
_MEMBERS: Final = 1_000


_WANTED: Final = re.compile(r"(?:^|,)\s*(?:gzip|\*)\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))", re.IGNORECASE)
_FIELD: Final = "Content-Encoding"


class TooLarge(ValueError):
    """The body is over the limit, as sent or after decompression."""


class UnknownCoding(ValueError):
    """The body is compressed in a way that we do not know."""


def decompressed(body: bytes, coding: str, limit: int) -> bytes:
    """The plain body; raises TooLarge, UnknownCoding or Malformed."""
    name = coding.strip().lower()
    if name in _IDENTITY:
        return body
    if name not in _WINDOWS:
        raise UnknownCoding(f"Content-Encoding {name!r} is not supported; send {CODINGS}")
    return _inflate(body, name, limit)


def compressed(answer: bytes, accepted: str) -> bytes | None:
    """The answer in gzip if the Accept-Encoding wants that and it becomes smaller by it."""
    packed = gzip.compress(answer) if answer and _WANTED.search(accepted) else answer
    return packed if len(packed) < len(answer) else None


def _inflate(body: bytes, name: str, limit: int) -> bytes:
    inflater = _Inflater(name, limit)
    view = memoryview(body)
    try:
        for start in range(0, len(body), _PIECE):
            inflater.feed(bytes(view[start : start + _PIECE]))
    except zlib.error as error:
        raise Malformed(f"the body is no {name}: {error}", _FIELD) from error
    return inflater.finish()


class _Inflater:
    """Unpacks a body of one or more members, piece by piece."""

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._plain = bytearray()
        self._members = 0
        self._stream: Any = None

    def feed(self, rest: bytes) -> None:
        while rest:
            if self._stream is None or self._stream.eof:
                self._begin()
            self._plain += self._stream.decompress(rest, self._limit + 1 - len(self._plain))
            if len(self._plain) > self._limit:
                raise TooLarge(f"the body is over {self._limit} bytes after decompression")
            rest = self._stream.unused_data

    def finish(self) -> bytes:
        if self._stream is not None and not self._stream.eof:
            raise Malformed(f"the body is {self._name} that is cut off", _FIELD)
        return bytes(self._plain)

    def _begin(self) -> None:
        self._members += 1
        if self._members > _MEMBERS:
            raise Malformed(f"the body is {self._name} of over {_MEMBERS} members", _FIELD)
        self._stream = zlib.decompressobj(_WINDOWS[self._name])
