"""Whether anybody listens where spans go to, asked with one TCP connection instead of a failed delivery."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}
_TIMEOUT = 1.0  # s
_AT_ONCE = 0.2  # s

_Target: TypeAlias = tuple[socket.AddressFamily, Any]


class Reach(Protocol):
    """Says whether a delivery is worth trying."""

    def listens(self) -> bool:
        """Whether somebody listens; True where that cannot be told."""

    def refuses(self) -> bool:
        """Whether it is known for sure, and at once, that nobody listens any more."""


class Unknown:
    """A destination that only the exporter knows."""

    def listens(self) -> bool:
        """Cannot be told."""
        return True

    def refuses(self) -> bool:
        """Cannot be told."""
        return False


class Address:
    """Host and port that take TCP connections, or do not."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._last = self._found(socket.AI_NUMERICHOST)  # at once where it is no name

    def listens(self) -> bool:
        """Whether one of the addresses that the host has now accepts a connection."""
        self._last = self._found()
        return any(_accepts(target) for target in self._last)

    def refuses(self) -> bool:
        """Whether all addresses found last say no: a name is not looked up and silence not waited for."""
        return bool(self._last) and all(_refuses(target) for target in self._last)

    def _found(self, flags: int = 0) -> list[_Target]:
        try:
            answers = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM, flags=flags)
        except (OSError, UnicodeError):
            return []
        return [(family, address) for family, _, _, _, address in answers]


def reach(url: str, default_ports: Mapping[str, int] = PORTS) -> Reach:
    """How to ask whether anybody listens at ``url``; behind a proxy, or without host and port, nobody can tell."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host, port = parts.hostname, parts.port or default_ports.get(parts.scheme)
    except ValueError:
        return Unknown()
    return Address(host, port) if host and port and not _proxied(host) else Unknown()


def _proxied(host: str) -> bool:
    from urllib.request import getproxies, proxy_bypass  # loads an HTTP client and a mail parser

    return bool(getproxies()) and not proxy_bypass(host)


def _accepts(target: _Target) -> bool:
    return _asked(target, _TIMEOUT) is None


def _refuses(target: _Target) -> bool:
    return isinstance(_asked(target, _AT_ONCE), ConnectionRefusedError)


def _asked(target: _Target, timeout: float) -> OSError | None:
    family, address = target
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(timeout)
            probe.connect(address)
    except OSError as error:
        return error
    return None
