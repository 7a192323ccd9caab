"""The little of PDF that the service reads: how many pages, and which words are drawn in the clear."""

from __future__ import annotations

import re

_PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")
_TEXT = re.compile(rb"\(((?:[^()\\]|\\.)*)\)\s*Tj")


def pages(data: bytes) -> int:
    """Number of pages."""
    return len(_PAGE.findall(data))


def words(data: bytes) -> str:
    """Text that is not compressed."""
    return b"\n".join(_TEXT.findall(data)).decode(errors="replace")
