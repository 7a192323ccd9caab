"""Pages of a PDF are counted where they can be seen, and never guessed."""

from __future__ import annotations

import base64
import zlib

import pytest

from spanwise.openai.pdf import MAX_BYTES, pages

_PLAIN = (
    b"%PDF-1.4 1 0 obj<</Type /Pages /Count 2>>endobj 2 0 obj<</Type/Page>>endobj 3 0 obj<</Type /Page/Parent 1 0 R>>"
)
_PACKED = (
    b"%PDF-1.5\n5 0 obj<</Type /ObjStm /N 3 /Filter /FlateDecode /Length 99>>\nstream\n"
    + zlib.compress(b"1 0 2 9 <</Type /Page>> <</Type/Page/X 1>> <</Type/Pages>>")
    + b"\nendstream"
)
_ENCRYPTED = b"%PDF-1.5\n5 0 obj<</Type /ObjStm /Length 4>>\nstream\nabcd\nendstream"


@pytest.mark.parametrize(("data", "expected"), [(_PLAIN, 2), (_PACKED, 2), (_ENCRYPTED, None), (b"hello", None)])
def test_pages_are_counted_in_plain_and_in_compressed_parts(data: bytes, expected: int | None) -> None:
    encoded = base64.b64encode(data).decode()

    assert expected == pages(f"data:application/pdf;base64,{encoded}")
    assert expected == pages(encoded)


@pytest.mark.parametrize(
    "url", ["", "data:application/pdf;base64,", "data:application/pdf;base64,a", "A" * (2 * MAX_BYTES)]
)
def test_what_cannot_be_read_has_no_number_of_pages(url: str) -> None:
    assert pages(url) is None
