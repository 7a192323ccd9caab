"""The demo's local model, which also keeps a logbook; ``deploy`` makes a deployment whose times are declared."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.request import Request, urlopen

from tests.matrix.emitted.logbook import noted

from spanwise_demo.listen import listen
from spanwise_demo.model.service import service

FIRST_TOKEN_MS = 120
TOKEN_MS = 4
_LATENCY = {
    "queue_ms": FIRST_TOKEN_MS,
    "output_token_ms": TOKEN_MS,
    "uncached_token_ms": 0,
    "cached_token_ms": 0,
    "jitter": 0,
    "scale": 1,
}


def deploy(url: str) -> str:
    """A new deployment's base URL for clients of OpenAI."""
    body = json.dumps({"latency": _LATENCY}).encode()
    with urlopen(Request(f"{url}/deployments", body), timeout=10) as answer:  # noqa: S310 - our own server
        return f"{url}/{json.load(answer)['id']}/v1"


_USED = re.compile(rb'"usage": ?{"(?:prompt|input)_tokens": ?(\d+)(?:[^{}]*"(?:completion|output)_tokens": ?(\d+))?')


class Logging:
    """An ASGI application that notes each request to the one inside it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        kind = scope.get("path", "").rpartition("/")[2]
        if kind not in {"completions", "responses", "embeddings"}:
            await self._inner(scope, receive, send)
            return
        with noted(kind) as say:

            async def sending(message: Any) -> None:
                if used := _USED.search(message.get("body", b"")):
                    say(*(int(found or 0) for found in used.groups()))
                await send(message)

            await self._inner(scope, receive, sending)


if __name__ == "__main__":
    listen(Logging(service()))
