"""Lets pages of named origins send spans from a browser; everything else goes through untouched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from spanwise_collector.origin import origins

Message: TypeAlias = MutableMapping[str, Any]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Any, Send], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]

_HEADERS: Final = "content-type, content-encoding, authorization"
_MAX_AGE_S: Final = 7200


class Cors:
    """Answers preflights and names the origin on answers; cookies and the like are never asked for."""

    def __init__(self, app: App, allowed: str, headers: str = "") -> None:
        self._app = app
        self._allowed = origins(allowed)
        self._headers = ", ".join(filter(None, [_HEADERS, headers.strip()]))

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Send) -> None:
        """Serve one request."""
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"")
        allowed = any(each.fullmatch(origin.decode("latin-1").lower()) for each in self._allowed)
        if allowed and scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            await send({"type": "http.response.start", "status": 204, "headers": self._preflight(origin)})
            await send({"type": "http.response.body"})
            return
        more = [*_named(origin), (b"access-control-expose-headers", b"Retry-After")] if allowed else [_VARY]
        await self._app(scope, receive, _adding(send, more))

    def _preflight(self, origin: bytes) -> list[Header]:
        return [
            *_named(origin),
            (b"access-control-allow-methods", b"POST"),
            (b"access-control-allow-headers", self._headers.encode("latin-1")),
            (b"access-control-max-age", str(_MAX_AGE_S).encode()),
        ]


_VARY: Final = (b"vary", b"Origin")


def _named(origin: bytes) -> list[Header]:
    return [(b"access-control-allow-origin", origin), _VARY]


def _adding(send: Send, headers: list[Header]) -> Send:
    async def send_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *headers]
        await send(message)

    return send_more
