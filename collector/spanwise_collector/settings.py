"""Settings of the receiver, read once; the only place in the collector that looks at the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from spanwise_collector.origin import origins

_PREFIX: Final = "SPANWISE_"
_LIMITS: Final = ("max_attributes", "max_events", "max_links", "max_value_bytes", "max_value_depth")
_COUNTED: Final = (*_LIMITS, "max_memory_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverSettings:
    """Where the receiver listens and what it takes in; port 0 is any free one.

    ``max_message_bytes`` bounds one request after decompression, ``max_in_flight_bytes`` all of them together,
    ``max_memory_bytes`` the process (0 for most of what the machine or its container has),
    ``commit_wait_s`` how long a sender waits for its commit (below the SDKs' 10 s). The other ``max_`` settings cut
    what is more of a span (see SpanLimits); 0 keeps all. ``cors_origins`` and ``cors_headers`` are for web pages. Who
    gets in, over what and what is taken out of the spans: docs/security.md.
    """

    host: str = "127.0.0.1"
    otlp_grpc_port: int = 4317
    otlp_http_port: int = 4318
    max_message_bytes: int = 64 * 2**20
    max_in_flight_bytes: int = 512 * 2**20
    max_memory_bytes: int = 0
    commit_wait_s: float = 5.0
    grpc_workers: int = 16
    stop_grace_s: float = 5.0
    max_attributes: int = 0
    max_events: int = 0
    max_links: int = 0
    max_value_bytes: int = 0
    max_value_depth: int = 0
    cors_origins: str = ""
    cors_headers: str = ""
    tokens: str = field(default="", repr=False)
    token_file: str = ""
    require_token: bool = False
    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    allowed_hosts: str = ""
    redact: str = field(default="", repr=False)
    hash_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        """Raise ValueError on limits below 0 and on origins that are none."""
        for name in _COUNTED:
            if getattr(self, name) < 0:
                raise ValueError(f"{_PREFIX}{name.upper()}={getattr(self, name)}: give 0 or more; 0 sets no limit")
        try:
            origins(self.cors_origins)
        except ValueError as error:
            raise ValueError(f"{_PREFIX}CORS_ORIGINS: {error}") from error

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], **overrides: Any) -> ReceiverSettings:
        """Settings from ``SPANWISE_*`` variables, then from overrides that are not None; ValueError names the key."""
        values = {field.name: _read(environ, field.name, type(field.default)) for field in fields(cls)}
        values |= {name: value for name, value in overrides.items() if value is not None}
        return cls(**{name: value for name, value in values.items() if value is not None})


def _read(environ: Mapping[str, str], name: str, convert: Callable[[str], Any]) -> Any:
    key = _PREFIX + name.upper()
    text = environ.get(key)
    if text is None:
        return None
    try:
        return flag(text) if convert is bool else convert(text)
    except ValueError as error:
        raise ValueError(f"{key}={text!r} is not a valid {convert.__name__}") from error


def flag(text: str) -> bool:
    """A switch as people write it; raises ValueError."""
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    try:
        return known[text.strip().lower()]
    except KeyError:
        raise ValueError(f"{text!r} is neither true nor false") from None
