"""The customer's papers: an invoice as a PDF, its text, statements by page, photographs."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass

from spanwise_demo.agent.case import Case
from spanwise_demo.agent.prompts import reference
from spanwise_demo.picture import scan

_PAGE_WORDS = 45
_PHOTO = (1536, 1024)
_TEXT = re.compile(rb"\(([^()]*)\)\s*Tj")


@dataclass(frozen=True, slots=True)
class Papers:
    """What the customer sent along: made before the conversation, for it is not the agent's work."""

    photos: Sequence[bytes]
    invoice: bytes
    statements: Sequence[str]

    @classmethod
    def of(cls, case: Case) -> Papers:
        """The papers of this case."""
        return cls(photos(case), invoice(case), statements(case))


def photos(case: Case) -> list[bytes]:
    """PNG photographs of the article, large in pixels."""
    return [scan(*_PHOTO, seed=f"{case.order}/{number}") for number in range(case.photos)]


def invoice(case: Case) -> bytes:
    """The invoice as a PDF of text pages."""
    head = f"Invoice for order {case.order}, parcel {case.parcel}."
    return _pdf([f"{head} Page {number + 1}. {reference(_PAGE_WORDS)}" for number in range(case.pages)])


def extracted(pdf: bytes) -> str:
    """The words in a PDF whose text is not compressed."""
    return "\n".join(found.decode() for found in _TEXT.findall(pdf))


def statements(case: Case) -> list[str]:
    """The customer's statements, one text a page."""
    return [
        f"Statement {number + 1} on order {case.order}. {reference(_PAGE_WORDS * 2)}" for number in range(case.pages)
    ]


def data_url(kind: str, data: bytes) -> str:
    """The bytes as a ``data:`` URL."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _pdf(pages: Sequence[str]) -> bytes:
    """A PDF with one page for each text."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, text in enumerate(pages):
        drawn = f"BT /F1 9 Tf 40 780 Td ({text}) Tj ET".encode()
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            + f"/Contents {5 + 2 * index} 0 R >>".encode()
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n".encode() + drawn + b"\nendstream")
    return _file(objects)


def _file(objects: Sequence[bytes]) -> bytes:
    body, offsets = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n".encode() + item + b"\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    tail = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return body + head.encode() + tail.encode()
