"""The stored answer of a conversation whose raw spans are deleted, marked as such."""

from __future__ import annotations

import json
from dataclasses import asdict

from spanwise_analyzer.shapes import NoticeRow

GONE = NoticeRow(
    "raw-spans-gone",
    "spans of this conversation were deleted by retention: this is the last answer computed before; it has no timeline "
    "any more, and spans that arrived since are not in it",
)


def marked(document: bytes) -> bytes:
    """The same answer with the notice added."""
    said = json.loads(document)
    said["notices"].append(asdict(GONE))
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
