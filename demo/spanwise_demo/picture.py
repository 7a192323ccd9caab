"""Photographs that nobody took: PNG files of noise, the same for the same seed."""

from __future__ import annotations

import random
import struct
import zlib


def photograph(width: int, height: int, *, seed: str) -> bytes:
    """A valid RGB PNG of this size; noise does not compress, so it has about three bytes a pixel."""
    chance = random.Random(seed)  # noqa: S311 - made-up pictures
    rows = b"".join(b"\0" + chance.randbytes(width * 3) for _ in range(height))
    return _png(width, height, rows)


def scan(width: int, height: int, *, seed: str) -> bytes:
    """A valid RGB PNG of this size in stripes, which compress well: large in pixels, small in bytes."""
    chance = random.Random(seed)  # noqa: S311 - made-up pictures
    rows = b"".join(b"\0" + chance.randbytes(3) * width for _ in range(height))
    return _png(width, height, rows)


def _png(width: int, height: int, rows: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
