"""What the server may be told: defaults, then SPANWISE_* variables, then the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from spanwise_collector.forwarding import headers
from spanwise_collector.settings import flag

PREFIX = "SPANWISE_"
_LAST_PORT = 65535
DEFAULT_URL = "http://127.0.0.1:4320"


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """One field per option of ``spanwise serve``; ``help`` in the metadata is what ``--help`` prints."""

    db: Path = field(default=Path("spanwise.duckdb"), metadata={"help": "database file, created when missing"})
    host: str = field(default="127.0.0.1", metadata={"help": "address that every port binds to"})
    otlp_grpc_port: int = field(default=4317, metadata={"help": "OTLP/gRPC port, 0 for any"})
    otlp_http_port: int = field(default=4318, metadata={"help": "OTLP/HTTP port, 0 for any"})
    port: int = field(default=4320, metadata={"help": "port of API and page, 0 for any"})
    retention_days: float = field(default=0.0, metadata={"help": "days that spans are kept, 0 for ever"})
    retention_bytes: int = field(default=0, metadata={"help": "bytes that the database may use, 0 for any number"})
    aggregate_days: float = field(
        default=0.0, metadata={"help": "days that answers and hourly sums outlive deleted spans, 0 for ever"}
    )
    forward: tuple[str, ...] = field(
        default=(), metadata={"help": "OTLP endpoint that gets everything stored, http(s):// or grpc(s)://; repeatable"}
    )
    drain_seconds: float = field(default=20.0, metadata={"help": "longest wait for open requests at the end"})
    token_file: str = field(
        default="", metadata={"help": "file of bearer tokens, one a line, read again when it changes"}
    )
    require_token: bool = field(
        default=False, metadata={"help": "refuse to listen beyond this machine without a token"}
    )
    open_metrics: bool = field(default=False, metadata={"help": "let /metrics be read without a token"})
    tls_cert: str = field(default="", metadata={"help": "PEM file with the certificate of every port"})
    tls_key: str = field(default="", metadata={"help": "PEM file with its key"})
    tls_client_ca: str = field(
        default="", metadata={"help": "PEM file with the CA that clients' certificates must have"}
    )
    allowed_hosts: str = field(default="", metadata={"help": "further names of this server in Host headers"})
    redact: str = field(default="", metadata={"help": "rules for what is taken out of spans before they are stored"})
    sql: bool = field(default=False, metadata={"help": "answer read-only SQL at POST /api/v1/query"})

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        for name in ("otlp_grpc_port", "otlp_http_port", "port"):
            number = getattr(self, name)
            if not 0 <= number <= _LAST_PORT:
                raise ValueError(f"{name}={number} is no port: 0 to {_LAST_PORT} are")
        for name in ("retention_days", "retention_bytes", "aggregate_days"):
            number = getattr(self, name)
            if not 0 <= number < math.inf:
                raise ValueError(f"{name}={number} is no amount: 0 keeps everything")

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Defaults with ``SPANWISE_<FIELD>`` applied; ``ValueError`` names the variable and its value."""
        found = {item.name: environ[variable(item.name)] for item in fields(cls) if environ.get(variable(item.name))}
        return replace(cls(), **{name: _parsed(cls, name, text) for name, text in found.items()})


def variable(name: str) -> str:
    """The environment variable of a field."""
    return PREFIX + name.upper()


def _parsed(cls: type[ServeSettings], name: str, text: str) -> Any:
    kind = type(getattr(cls(), name))
    if issubclass(kind, tuple):
        return tuple(text.replace(",", " ").split())
    try:
        if kind is bool:
            return flag(text)
        return Path(text) if issubclass(kind, Path) else kind(text)
    except ValueError as error:
        raise ValueError(f"{variable(name)}={text!r} is not a {kind.__name__}") from error


def url(environ: Mapping[str, str]) -> str:
    """The server that the commands talk to: ``SPANWISE_URL`` or the default on this machine."""
    return environ.get(f"{PREFIX}URL") or DEFAULT_URL


def token(environ: Mapping[str, str]) -> str:
    """What the commands show to the server: ``SPANWISE_TOKEN``, empty for nothing."""
    return environ.get(f"{PREFIX}TOKEN", "")


def forward_headers(environ: Mapping[str, str]) -> dict[str, str]:
    """Headers for every target of ``--forward``; from the environment only, since everybody sees command lines."""
    name = f"{PREFIX}FORWARD_HEADERS"
    try:
        return headers(environ.get(name, ""))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
