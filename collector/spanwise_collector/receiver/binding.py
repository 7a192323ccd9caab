"""Whether an address that is listened on can be reached from other machines, and what follows from that."""

from __future__ import annotations

import ipaddress
import socket
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_LOCAL = "localhost"


class OpenBind(ValueError):
    """Other machines could connect, and nobody has to show a token."""


def loopback(host: str) -> bool:
    """Whether only this machine can connect to ``host``; a name counts by every address that it has."""
    if not host:  # any address
        return False
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(_own(str(address)) for address in found)


def literal(host: str) -> Address | None:
    """The address that ``host`` spells out, an IPv4 one inside an IPv6 one taken out; None for a name."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def local(host: str) -> bool:
    """Whether ``host``, as a client wrote it, means the machine that the client runs on; nothing is looked up."""
    address = literal(host)
    if address is not None:
        return address.is_loopback
    name = host.lower().rstrip(".")
    return name == _LOCAL or name.endswith(f".{_LOCAL}")


def _own(address: str) -> bool:
    found = literal(address)
    return found is not None and found.is_loopback
