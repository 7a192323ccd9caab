"""TLS for all ports from one certificate, which is read again when its file changes."""

from __future__ import annotations

import ssl
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc

_MINIMUM: Final = ssl.TLSVersion.TLSv1_2


class BadCertificate(ValueError):
    """TLS cannot be served with these files; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Files:
    """PEM files: the certificate chain, its key, and the CA that clients' certificates must come from, if any."""

    certificate: str
    key: str
    client_ca: str = ""

    def stamp(self) -> tuple[int, ...]:
        """Changes whenever one of the files does; raises OSError."""
        found = [Path(name).stat() for name in (self.certificate, self.key, self.client_ca) if name]
        return tuple(number for each in found for number in (each.st_mtime_ns, each.st_size, each.st_ino))


class Tls:
    """Contexts for HTTP and credentials for gRPC; new connections get what the files hold then."""

    def __init__(self, files: Files) -> None:
        """Raise BadCertificate if the files do not fit."""
        self._files = files
        self._lock = threading.Lock()
        self._state = _state(files)

    def context(self) -> ssl.SSLContext:
        """For a server; each handshake switches to the newest context."""
        context = _context(self._files)
        context.sni_callback = self._switch
        return context

    def credentials(self) -> Any:
        """For a gRPC server."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration(), self._configuration, require_client_authentication=bool(self._files.client_ca)
        )

    def _switch(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._newest().context

    def _configuration(self) -> Any:
        state = self._newest()
        return grpc.ssl_server_certificate_configuration([(state.key, state.certificate)], state.client_ca)

    def _newest(self) -> _State:
        """What the files hold; while they do not fit together, as in the middle of a renewal, what they held before."""
        with self._lock:
            try:
                if self._files.stamp() != self._state.stamp:
                    self._state = _state(self._files)
            except (OSError, BadCertificate):
                pass
            return self._state


@dataclass(frozen=True, slots=True)
class _State:
    stamp: tuple[int, ...]
    context: ssl.SSLContext
    certificate: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None


def tls(certificate: str, key: str, client_ca: str) -> Tls | None:
    """TLS if it is configured; raises BadCertificate if it is by half, or if the files do not fit."""
    if not (certificate or key or client_ca):
        return None
    if not (certificate and key):
        raise BadCertificate("TLS needs both a certificate and its key: --tls-cert FILE and --tls-key FILE")
    return Tls(Files(certificate, key, client_ca))


def _state(files: Files) -> _State:
    try:
        stamp = files.stamp()
        context = _context(files)
        return _State(stamp, context, _read(files.certificate), _read(files.key), _read(files.client_ca) or None)
    except OSError as error:
        raise BadCertificate(f"{error.filename or files.certificate}: {error.strerror or error}") from error


def _context(files: Files) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _MINIMUM
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
    except ssl.SSLError as error:
        raise BadCertificate(_misfit(files, error)) from error
    if files.client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        _trust(context, files.client_ca)
    return context


def _trust(context: ssl.SSLContext, client_ca: str) -> None:
    try:
        context.load_verify_locations(client_ca)
    except ssl.SSLError as error:
        raise BadCertificate(f"{client_ca} holds no CA certificate in PEM form") from error


def _misfit(files: Files, error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"the key {files.key} does not belong to the certificate {files.certificate}"
    return f"{files.certificate} and {files.key} are no certificate and plain key in PEM form ({error.reason or error})"


def _no_password() -> str:
    return ""  # an encrypted key is refused, not asked about at the terminal


def _read(name: str) -> bytes:
    return Path(name).read_bytes() if name else b""
