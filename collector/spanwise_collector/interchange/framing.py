"""A stream cut into frames: lines of JSON, one document of it, lengths and messages, or a bare message."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from spanwise_collector.interchange.piece import Fault, Frame

LONGEST: Final = 2**28  # bytes of a frame; decoding takes about ten times as much
_HEAD: Final = 2**16
_PREFIX: Final = 4  # bytes of a length, the most significant first, as the OpenTelemetry Collector writes them
_BINARY: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_RESOURCE_SPANS: Final = 0x0A  # how a bare trace request begins, and every part of it
_PAIR: Final = 2
_CONTINUED: Final = 0x80
_VARINT: Final = 10  # bytes of the longest number


def frames(stream: io.BufferedReader) -> Iterator[Frame | Fault]:
    """The frames of a stream; a Fault says where it cannot be cut. No more than one frame is in memory."""
    head = stream.peek(_HEAD)[:_HEAD]
    if not _BINARY.search(head):
        yield from _lines(stream)
    elif head[0] == _RESOURCE_SPANS:
        yield from _bare(stream)
    else:
        yield from _delimited(stream)


def _lines(stream: io.BufferedReader) -> Iterator[Frame | Fault]:
    """A document that is spread over several lines begins with one that is no JSON, and goes on with none either."""
    lines = enumerate(stream, start=1)
    filled = ((number, line) for number, line in lines if not line.isspace())
    first = list(itertools.islice(filled, _PAIR))
    if _goes_on([line for _, line in first]):
        yield _document(first, stream)
        return
    for number, line in itertools.chain(first, filled):
        yield Frame(f"line {number}", line)


def _goes_on(lines: list[bytes]) -> bool:
    """Whether the second of two lines continues the document of the first: that is not closed, this opens none."""
    if len(lines) < _PAIR or lines[0].rstrip().endswith((b"}", b"]")):
        return False
    if lines[0].strip() in (b"[", b"{"):
        return True
    return not lines[1].startswith((b"{", b"["))


def _document(first: list[tuple[int, bytes]], stream: io.BufferedReader) -> Frame | Fault:
    begun = b"".join(line for _, line in first)
    body = begun + stream.read(LONGEST)
    if len(body) - len(begun) == LONGEST:
        return Fault(f"line {first[0][0]}", f"one document of over {LONGEST} bytes; write it as lines of JSON")
    return Frame(f"the document from line {first[0][0]} on", body)


def _bare(stream: io.BufferedReader) -> Iterator[Frame | Fault]:
    """One message after the other of those that a request is made of; each is a request of its own."""
    offset = 0
    while tag := stream.read(1):
        place = f"byte {offset}"
        length, size = _varint(stream)
        if tag[0] != _RESOURCE_SPANS or length > LONGEST:
            yield Fault(place, "this is no trace request, or no longer one")
            return
        body = stream.read(length)
        if len(body) < length:
            yield _cut_off(place, len(body), length)
            return
        offset += 1 + len(size) + length
        yield Frame(place, tag + size + body)


def _varint(stream: io.BufferedReader) -> tuple[int, bytes]:
    """A number of seven bits a byte, the least significant first, and the bytes that it takes."""
    size = bytearray()
    while len(size) <= _VARINT and (byte := stream.read(1)):
        size += byte
        if byte[0] < _CONTINUED:
            break
    return sum((byte & _CONTINUED - 1) << 7 * place for place, byte in enumerate(size)), bytes(size)


def _delimited(stream: io.BufferedReader) -> Iterator[Frame | Fault]:
    offset = 0
    while prefix := stream.read(_PREFIX):
        place, length = f"byte {offset}", int.from_bytes(prefix)
        if len(prefix) < _PREFIX or length > LONGEST:
            yield Fault(place, "neither text nor a trace request, nor the length of one")
            return
        body = stream.read(length)
        if len(body) < length:
            yield _cut_off(place, len(body), length)
            return
        offset += _PREFIX + length
        yield _unpacked(Frame(place, body)) if body.startswith(_ZSTD) else Frame(place, body)


def _cut_off(place: str, there: int, length: int) -> Fault:
    return Fault(place, f"the message ends after {there} of {length} bytes: the file is cut off")


def _unpacked(frame: Frame) -> Frame | Fault:
    """The Collector's ``compression: zstd`` packs each message by itself."""
    try:
        with pa.CompressedInputStream(pa.BufferReader(frame.body), "zstd") as stream:
            return Frame(frame.place, stream.read(LONGEST))
    except OSError as error:
        return Fault(frame.place, str(error))
