"""Which requests of the SDK are model calls."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spanwise import semconv


@dataclass(frozen=True, slots=True)
class Route:
    """One API of the service: operation, and the name that the conventions give the API."""

    operation: str
    api: str | None


CHAT = Route(semconv.OPERATION_CHAT, "chat_completions")
RESPONSES = Route(semconv.OPERATION_CHAT, semconv.API_RESPONSES)
EMBEDDINGS = Route(semconv.OPERATION_EMBEDDINGS, None)
COMPLETIONS = Route("text_completion", None)
FETCH = Route(semconv.OPERATION_FETCH_RESPONSE, semconv.API_RESPONSES)

_ROUTES = {
    "/chat/completions": CHAT,
    "/responses": RESPONSES,
    "/responses/compact": RESPONSES,  # a pass of the model over the conversation, with tokens of its own
    "/embeddings": EMBEDDINGS,
    "/completions": COMPLETIONS,
}
_ONE_RESPONSE = re.compile(r"/responses/[^/]+$")


def route(method: str, url: str) -> Route | None:
    """The API behind a request, or None where no model is called (lists, files, deletion)."""
    path = url.split("?", 1)[0].rstrip("/")
    if method.lower() == "get":
        return FETCH if _ONE_RESPONSE.search(path) else None
    if method.lower() != "post":
        return None
    # Azure's client puts the deployment in front, a base URL may be part of an absolute one.
    return next((found for end, found in _ROUTES.items() if path.endswith(end)), None)
