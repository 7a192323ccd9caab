"""How many pages a PDF has, as far as that can be seen without a PDF library."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from typing import Final

MAX_BYTES: Final = 8 * 1024 * 1024  # of a file that is looked into
_MAX_OPENED: Final = 4 * 1024 * 1024  # of one compressed part
_PAGE: Final = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_PACKED: Final = re.compile(rb"/ObjStm[^>]*>>\s*stream\r?\n")  # since PDF 1.5 pages may lie in compressed parts


def pages(url: str) -> int | None:
    """Pages of the PDF in a ``data:`` URL or in bare base64; None where they cannot be counted."""
    data = _decoded(url)
    if data is None or not data.startswith(b"%PDF"):
        return None
    found = len(_PAGE.findall(data)) + sum(len(_PAGE.findall(part)) for part in _opened(data))
    return found or None


def _decoded(url: str) -> bytes | None:
    encoded = url.partition(",")[2] if url.startswith("data:") else url
    if not encoded or len(encoded) > MAX_BYTES * 4 // 3:
        return None
    try:
        return base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return None


def _opened(data: bytes) -> Iterator[bytes]:
    for start in _PACKED.finditer(data):
        try:
            yield zlib.decompressobj().decompress(data[start.end() :], _MAX_OPENED)
        except zlib.error:  # another kind of compression, or encrypted
            continue
