"""What every port shares: who is let in, under which names, over what, and what is taken out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from spanwise_collector.otlp.redaction import Redaction
from spanwise_collector.receiver.access import Access
from spanwise_collector.receiver.binding import OpenBind, loopback
from spanwise_collector.receiver.hosts import Hosts, hosts
from spanwise_collector.receiver.tls import Tls, tls
from spanwise_collector.settings import ReceiverSettings


@dataclass(frozen=True, slots=True)
class Entrance:
    """Tokens, names, TLS and redaction of this process."""

    access: Access
    hosts: Hosts
    tls: Tls | None
    redaction: Redaction | None
    warning: str | None
    """What is dangerous about the way this process listens; None if nothing is."""

    @classmethod
    def of(cls, settings: ReceiverSettings) -> Self:
        """Raise ValueError, in one line, where tokens, certificates or rules cannot be used or a token is missing."""
        access = Access(settings.tokens, settings.token_file)
        exposed = not loopback(settings.host)
        if settings.require_token and exposed and not access.required:
            raise OpenBind(f"{_open(settings.host)}; name tokens with --token-file FILE, or listen on 127.0.0.1")
        return cls(
            access,
            Hosts(settings.host, hosts(settings.allowed_hosts), exposed, access.required),
            tls(settings.tls_cert, settings.tls_key, settings.tls_client_ca),
            Redaction.of(settings.redact, settings.hash_key),
            _warning(settings, exposed=exposed, guarded=access.required),
        )

    @property
    def scheme(self) -> str:
        """Of every HTTP port."""
        return "https" if self.tls else "http"


def _warning(settings: ReceiverSettings, *, exposed: bool, guarded: bool) -> str | None:
    if not exposed:
        return None
    if not guarded:
        return f"{_open(settings.host)} and write traces; name tokens with --token-file FILE (see docs/security.md)"
    if not settings.tls_cert:
        return f"listening on {settings.host} without TLS: tokens and traces cross the network in the clear"
    return None


def _open(host: str) -> str:
    return f"listening on {host or 'every address'} without a token: whoever reaches this address can read"
