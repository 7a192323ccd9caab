"""Keeps a server from forwarding to itself, which would never end."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import SplitResult, urlsplit

from spanwise_collector.forwarding.target import Target

_ANY: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104  # compared, not bound


def refuse_own(targets: Sequence[Target], addresses: Iterable[str]) -> None:
    """Raise OSError if one of these is where this process listens: ``host:port`` or URLs, as they were bound."""
    own = [(parts.hostname or "", parts.port) for parts in map(_parts, addresses)]
    for target in targets:
        at = _resolved(target.host)
        for host, port in own:
            mine = any(map(_local, at)) if host in _ANY else bool(at & _resolved(host))
            if port == target.port and mine:
                raise OSError(f"--forward {target.name} is this server itself: it would forward without end")


def _parts(address: str) -> SplitResult:
    return urlsplit(address if "://" in address else f"//{address}")


def _resolved(host: str) -> set[str]:
    """Its addresses; none where nobody knows it, now: then it is not this machine."""
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return set()


def _local(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
