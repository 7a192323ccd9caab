"""Where to forward to, as people write it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

_PORTS: Final = {"http": 80, "https": 443, "grpc": 4317, "grpcs": 4317}
_PATH: Final = "/v1/traces"
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WANTED: Final = "expected http://host:4318, https://… or grpc://host:4317"


@dataclass(frozen=True, slots=True)
class Target:
    """An OTLP endpoint. ``url`` is whole for HTTP, ``host:port`` for gRPC; ``name`` tells it apart without secrets."""

    url: str
    host: str
    port: int
    grpc: bool = False
    secure: bool = False

    @property
    def name(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def target(text: str) -> Target:
    """The endpoint of a URL; HTTP without a path gets the usual one. Raises ValueError that tells what was expected."""
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{_shown(text)}: {error}; {_WANTED}") from error
    if parts.scheme not in _PORTS or not host or port == 0:
        raise ValueError(f"{_shown(text)} is no OTLP endpoint: {_WANTED}")
    port = port or _PORTS[parts.scheme]
    if parts.scheme.startswith("grpc"):
        return _grpc(parts, Target("", host, port, grpc=True, secure=parts.scheme == "grpcs"))
    path = _PATH if parts.path in ("", "/") else parts.path
    return Target(parts._replace(path=path, fragment="").geturl(), host, port, secure=parts.scheme == "https")


def headers(text: str) -> dict[str, str]:
    """Headers as in OTEL_EXPORTER_OTLP_HEADERS: ``name=value,name=value``, values percent-encoded.

    Raises ValueError that tells the place of what is wrong, never a value: it may be secret.
    """
    found = {}
    for place, part in enumerate(filter(None, (piece.strip() for piece in text.split(","))), start=1):
        name, sign, value = part.partition("=")
        value = unquote(value.strip())
        if not sign or not _NAME.fullmatch(name.strip()) or not (value.isascii() and value.isprintable()):
            raise ValueError(f"header {place} is not name=value, its value percent-encoded and of ASCII")
        found[name.strip().lower()] = value
    return found


def _grpc(parts: SplitResult, found: Target) -> Target:
    if parts.path not in ("", "/") or parts.query or parts.username:
        raise ValueError(f"{_shown(parts.geturl())}: a gRPC endpoint is a host and a port, nothing more")
    return Target(found.name, found.host, found.port, grpc=True, secure=found.secure)


def _shown(text: str) -> str:
    """The address without what may be secret in it."""
    return repr(re.sub(r"//[^/@]*@", "//", text.partition("?")[0]))
