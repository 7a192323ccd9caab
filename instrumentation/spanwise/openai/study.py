"""What a request consists of, worked out from the bytes that are sent, while the program waits for the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue

from spanwise import background, hashing, semconv, text, toolruns
from spanwise.background import Job
from spanwise.openai.prompt import prompt
from spanwise.openai.request import request_attributes
from spanwise.openai.route import Route
from spanwise.safety import let_through


def study(span: Span, route: Route, request: Any) -> Job | None:
    """Have added to ``span`` what the body of an HTTP request says; None where it is no block of bytes, or empty."""
    data = _content(request)
    return background.begin(lambda: _write(span, route, data)) if data else None


def _content(request: Any) -> bytes:
    try:
        data: bytes = request.content
    except Exception as error:  # noqa: BLE001 - httpx and httpx2 each have their own RequestNotRead: a body that is streamed
        let_through(error)
        return b""
    return data


def _write(span: Span, route: Route, data: bytes) -> None:
    wire: dict[str, AttributeValue] = {
        semconv.REQUEST_BYTES: len(data),
        semconv.REQUEST_HASH: hashing.hashed(data),
        semconv.HASH_KEY_ID: hashing.key_id(),
    }
    if not span.is_recording():  # a collection that the work brought about dropped the answer, and ended the span
        return
    span.set_attributes(wire)
    body = _parsed(data)
    if isinstance(body, Mapping):
        parsed = prompt(route, body)
        span.set_attributes(text.attributes(request_attributes(route, body, parsed)))
        toolruns.link(span, parsed.results())


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
