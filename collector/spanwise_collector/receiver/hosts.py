"""Which Host and Origin headers are believed: a page in somebody's browser must not reach this server behind its back.

A browser is tricked in two ways. DNS rebinding makes a foreign name point to this machine: its Host header gives it
away. A plain cross-origin POST needs nobody's consent: Origin and Sec-Fetch-Site give it away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from spanwise_collector.receiver.binding import literal, local

ANY: Final = "*"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_FOREIGN: Final = frozenset({"cross-site", "same-site"})


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names of this server.

    Bound to loopback these are the loopback names, the bound address and ``allowed``. Bound to anything else, names
    without a dot and IP addresses are believed too: no foreign DNS answers for them. Where a token is required any
    name will do, since a foreign page has none.
    """

    bound: str
    allowed: frozenset[str]
    exposed: bool
    guarded: bool

    def known(self, names: Sequence[str]) -> bool:
        """Whether all of these Host headers name this server; no header is no browser."""
        return all(self._known(hostname(name)) for name in names)

    def _known(self, name: str) -> bool:
        if ANY in self.allowed or name in self.allowed or name == self.bound.lower() or local(name):
            return True
        return self.exposed and (self.guarded or literal(name) is not None or "." not in name)


def hosts(text: str) -> frozenset[str]:
    """Names from a list separated by commas or white space."""
    return frozenset(name.lower() for name in text.replace(",", " ").split())


def hostname(header: str) -> str:
    """The name in a Host header, without its port, in lower case; empty where it cannot be read."""
    try:
        return (urlsplit(f"//{header.strip()}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def cross_origin(method: str, headers: Iterable[tuple[bytes, bytes]], trusted: Callable[[str], bool]) -> bool:
    """Whether a page of another origin, no trusted one, sends something that may change or start anything."""
    if method in _SAFE:
        return False
    found = {name: value.decode("latin-1").strip().lower() for name, value in headers}
    origin = found.get(b"origin")
    if origin is not None:
        return origin.partition("://")[2] != found.get(b"host") and not trusted(origin)
    return found.get(b"sec-fetch-site", "none") in _FOREIGN
