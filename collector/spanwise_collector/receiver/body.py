"""Request bodies, decompressed within a limit."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

from spanwise_collector.otlp.decode import Malformed

_IDENTITY: Final = frozenset({"", "identity"})
# 47: gzip or zlib by its header.
_WINDOWS: Final[Mapping[str, int]] = {"gzip": 47, "x-gzip": 47, "deflate": 47}
CODINGS: Final = "gzip, deflate, identity"


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


def _inflate(body: bytes, name: str, limit: int) -> bytes:
    plain, rest = bytearray(), body
    try:
        while rest:  # a gzip body may have several members
            stream = zlib.decompressobj(_WINDOWS[name])
            plain += stream.decompress(rest, limit + 1 - len(plain))
            if len(plain) > limit:
                raise TooLarge(f"the body is over {limit} bytes after decompression")
            if not stream.eof:
                raise Malformed(f"Content-Encoding is {name}, but the body is cut off")
            rest = stream.unused_data
    except zlib.error as error:
        raise Malformed(f"Content-Encoding is {name}, but the body is not: {error}") from error
    return bytes(plain)
