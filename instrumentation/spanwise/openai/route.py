"""Which requests of the SDK are model calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spanwise import semconv


@dataclass(frozen=True, slots=True)
class Route:
    """One API of the service: operation, and the name that the conventions give the API."""

    operation: str
    api: str | None


CHAT = Route(semconv.OPERATION_CHAT, "chat_completions")
RESPONSES = Route(semconv.OPERATION_CHAT, "responses")
EMBEDDINGS = Route(semconv.OPERATION_EMBEDDINGS, None)
COMPLETIONS = Route("text_completion", None)

_ROUTES = {
    "/chat/completions": CHAT,
    "/responses": RESPONSES,
    "/embeddings": EMBEDDINGS,
    "/completions": COMPLETIONS,
}
_AZURE = "azure.ai.openai"
_OPENAI = "openai"


def route(method: str, url: str) -> Route | None:
    """The API behind a request, or None where no model is called (lists, files, retrieval by id)."""
    if method.lower() != "post":
        return None
    path = url.split("?", 1)[0].rstrip("/")
    # Azure's client puts the deployment in front, a base URL may be part of an absolute one.
    return next((found for end, found in _ROUTES.items() if path.endswith(end)), None)


def provider_name(client: Any) -> str:
    """Whose service a client talks to, in the conventions' words."""
    kinds = {kind.__name__ for kind in type(client).__mro__}
    host = str(getattr(getattr(client, "base_url", None), "host", ""))
    azure = kinds & {"AzureOpenAI", "AsyncAzureOpenAI"} or host.endswith(".openai.azure.com")
    return _AZURE if azure else _OPENAI
