"""How documents go out over HTTP."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from spanwise_analyzer.shapes import dump

JSON = "application/json"
# Late spans re-open a conversation: no cache may answer for us.
FRESH = {"Cache-Control": "no-store"}


def reply(shape: Any, *, status: int = 200) -> Response:
    """The shape as JSON."""
    return document(dump(shape), status=status)


def document(body: bytes, *, status: int = 200) -> Response:
    """JSON that is ready."""
    return Response(body, status, media_type=JSON, headers=FRESH)
