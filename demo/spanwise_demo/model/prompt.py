"""A request as the service's tokeniser sees it: a stream of bytes with pictures and pages in it."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from spanwise_demo.model import pdf
from spanwise_demo.model.ask import Ask, Message, Part

TOKEN_BYTES = 4
_LOW_TOKENS = 85
_TILE_TOKENS = 170
_TILE_PIXELS = 512
_LONG_SIDE = 2048
_SHORT_SIDE = 768
_PAGE_TOKENS = 255


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt's bytes in order, and the pictures and pages whose cost is not in the bytes alone."""

    content: bytes
    images: int = 0
    tiles: int = 0
    pdf_pages: int = 0

    @property
    def tokens(self) -> int:
        """Input tokens, about four bytes each."""
        return tokens(self.content)


def tokens(content: bytes | str) -> int:
    """Tokens of some text or bytes, about four bytes each."""
    size = len(content.encode() if isinstance(content, str) else content)
    return math.ceil(size / TOKEN_BYTES)


def prompt(ask: Ask) -> Prompt:
    """Tools first, then the messages in order, as such services lay out what they cache."""
    parts = [part for message in ask.messages for part in message.parts]
    pictures = [part for part in parts if part.kind == "image"]
    return Prompt(
        content=b"".join(_stream(ask)),
        images=len(pictures),
        tiles=sum(_tiles(part) for part in pictures),
        pdf_pages=sum(pdf.pages(part.data) for part in parts if part.kind == "file"),
    )


def _stream(ask: Ask) -> Iterable[bytes]:
    for tool in ask.tools:
        yield json.dumps(asdict(tool), separators=(",", ":")).encode()
    for message in ask.messages:
        yield from _message(message)


def _message(message: Message) -> Iterable[bytes]:
    yield f"\n{message.role}:".encode()
    for part in message.parts:
        yield part.text.encode() + _picture(part)
    for call in message.calls:
        yield f"{call.name}{call.arguments}".encode()


def _picture(part: Part) -> bytes:
    """Stand-in bytes for what a picture or a page costs beyond its words, the same for the same content."""
    if part.kind == "image":
        return _filler(part.data, _LOW_TOKENS + _TILE_TOKENS * _tiles(part))
    return _filler(part.data, _PAGE_TOKENS * pdf.pages(part.data))


def _filler(data: bytes, count: int) -> bytes:
    digest = hashlib.sha256(data).digest()
    return (digest * (count * TOKEN_BYTES // len(digest) + 1))[: count * TOKEN_BYTES]


def _tiles(part: Part) -> int:
    """512-pixel tiles of a PNG after fitting it into 2,048 and its short side into 768; none at low detail."""
    if part.detail == "low":
        return 0
    width, height = _size(part.data)
    fit = min(1.0, _LONG_SIDE / max(width, height), _SHORT_SIDE / min(width, height))
    across, down = math.ceil(width * fit / _TILE_PIXELS), math.ceil(height * fit / _TILE_PIXELS)
    return across * down


def _size(png: bytes) -> tuple[int, int]:
    header = png[16:24]
    if len(header) < struct.calcsize(">II"):
        return _TILE_PIXELS, _TILE_PIXELS
    width, height = struct.unpack(">II", header)
    return max(width, 1), max(height, 1)
