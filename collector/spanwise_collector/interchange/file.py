"""Files of spans as streams: packed or not is told by their first bytes when read, by their name when written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa

STANDARD: Final = "-"
_PACKED: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES: Final = {".gz": "gzip", ".zst": "zstd"}
_MAGIC: Final = 4
_BUFFER: Final = 2**20


class Unreadable(OSError):
    """The file cannot be read, or not any further."""


@contextmanager
def reading(name: str) -> Iterator[tuple[BufferedReader, BinaryIO]]:
    """The unpacked content of a file, ``-`` for standard input, and the raw file, whose position is the progress.

    Raises Unreadable when it cannot be opened; reading raises OSError when its packed content is damaged.
    """
    with nullcontext(cast("BufferedReader", sys.stdin.buffer)) if name == STANDARD else _opened(name) as raw:
        begin = raw.peek(_MAGIC)
        kind = next((kind for magic, kind in _PACKED.items() if begin.startswith(magic)), None)
        yield (raw if kind is None else _unpacked(raw, kind)), raw


def _opened(name: str) -> BufferedReader:
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error


def _unpacked(packed: BinaryIO, kind: str) -> BufferedReader:
    stream = pa.CompressedInputStream(pa.PythonFile(packed, "r"), kind)
    return BufferedReader(stream, _BUFFER)


@contextmanager
def writing(name: str) -> Iterator[BinaryIO]:
    """A file that is there once it is whole, ``-`` for standard output; packed if its name ends so."""
    if name == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    final = Path(name)
    part = final.with_name(f"{final.name}.part")
    try:
        with part.open("wb") as raw:
            kind = _SUFFIXES.get(final.suffix)
            with raw if kind is None else pa.CompressedOutputStream(raw, kind) as stream:
                yield stream
        part.replace(final)
    finally:
        part.unlink(missing_ok=True)
