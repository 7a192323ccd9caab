"""Stands before an HTTP application: names, origins and tokens are checked before a byte of the body is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from spanwise_collector.receiver.access import Right
from spanwise_collector.receiver.entrance import Entrance
from spanwise_collector.receiver.hosts import cross_origin

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_HOST: Final = "the Host header names none of this server's names; SPANWISE_ALLOWED_HOSTS adds names"
_ORIGIN: Final = "a page of another origin may not send this"
_WANTED: Final = "a valid {} token is needed: Authorization: Bearer TOKEN"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request does not get in."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


Needs: TypeAlias = Callable[[str], Right | None]
Answer: TypeAlias = Callable[[Refusal, Mapping[str, str]], tuple[str, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a guard goes by.

    ``right`` tells what a path needs (None: nothing), ``answer`` makes media type and body of a refusal from the
    request's headers, ``refused`` is called for each request without a token that counts, and pages of a ``trusted``
    origin may send what other foreign pages may not.
    """

    right: Needs
    answer: Answer
    challenge: str
    refused: Callable[[], None] = lambda: None
    trusted: Callable[[str], bool] = lambda _: False


class Guard:
    """Passes on what may pass."""

    def __init__(self, app: App, entrance: Entrance, rules: Rules) -> None:
        self._app = app
        self._entrance = entrance
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one request."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await self._refuse(refusal, scope, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        raw = scope["headers"]
        if not self._entrance.hosts.known([value.decode("latin-1") for name, value in raw if name == b"host"]):
            return Refusal(403, _HOST)
        if cross_origin(scope["method"], raw, self._rules.trusted):
            return Refusal(403, _ORIGIN)
        right = self._rules.right(scope["path"])
        if right is None or scope["method"] == "OPTIONS" or self._entrance.access.allows(right, _authorization(raw)):
            return None
        self._rules.refused()
        self._entrance.access.refuse(right, "HTTP")
        return Refusal(401, _WANTED.format(right), {"www-authenticate": self._rules.challenge})

    async def _refuse(self, refusal: Refusal, scope: Scope, send: Send) -> None:
        asked = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        media_type, body = self._rules.answer(refusal, asked)
        headers = {"content-type": media_type, "content-length": str(len(body)), **refusal.headers}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
        await send({"type": "http.response.body", "body": body})


def _authorization(raw: list[tuple[bytes, bytes]]) -> str | None:
    """The header, if there is exactly one."""
    found = [value.decode("latin-1") for name, value in raw if name == b"authorization"]
    return found[0] if len(found) == 1 else None
