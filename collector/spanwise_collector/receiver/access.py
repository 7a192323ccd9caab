"""Who may send and who may read: bearer tokens, several at a time, from a file that may change or the environment."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

_log = logging.getLogger(__name__)

_QUIET_S: Final = 10.0  # between two lines about refused requests
_COMMENT: Final = "#"
_VISIBLE: Final = range(0x21, 0x7F)


class Right(StrEnum):
    """What a token allows."""

    INGEST = "ingest"
    READ = "read"


class BadTokens(ValueError):
    """The tokens cannot be read; the message says where and never shows one."""


@dataclass(frozen=True, slots=True)
class Token:
    """A digest of a token, so that comparing takes the same time for any text, and what it allows."""

    digest: bytes
    rights: frozenset[Right]


Stamp: TypeAlias = tuple[int, int, int]


def parsed(lines: Iterable[str], where: str) -> Iterator[Token]:
    """Tokens from lines of ``[ingest:|read:]TOKEN``; empty lines and ``#`` comments are skipped. Raises BadTokens."""
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith(_COMMENT):
            continue
        scope, colon, rest = text.partition(":")
        limited = bool(colon) and scope in set(Right)
        token = rest if limited else text
        if not token or any(ord(character) not in _VISIBLE for character in token):
            raise BadTokens(f"{where}, line {number}: a token is one word of visible ASCII characters")
        yield Token(_digest(token), frozenset({Right(scope)}) if limited else frozenset(Right))


class Access:
    """The tokens that count now; without any configured, everybody may do everything."""

    def __init__(self, tokens: str = "", file: str = "") -> None:
        """``tokens`` are separated by white space or commas; raises BadTokens, also where a file holds none."""
        self._given = tuple(parsed(tokens.replace(",", " ").split(), "SPANWISE_TOKENS"))
        self._file = Path(file) if file else None
        self._stamp: Stamp | None = None
        self._read: tuple[Token, ...] = ()
        self._refused = 0
        self._spoke_s = -_QUIET_S
        self._lock = threading.Lock()
        if self._file is not None:
            self._stamp, self._read = _stamp(self._file), _tokens(self._file)

    @property
    def required(self) -> bool:
        """Whether a token has to be shown."""
        return self._file is not None or bool(self._given)

    def allows(self, right: Right, authorization: str | None) -> bool:
        """Whether this ``Authorization`` header (Bearer, or Basic with the token as password) gives the right."""
        if not self.required:
            return True
        offered = _offered(authorization)
        digest = _digest(offered or "")
        # Every token is compared, whether one fits already or not.
        fits = [hmac.compare_digest(token.digest, digest) and right in token.rights for token in self._tokens()]
        return offered is not None and any(fits)

    def refuse(self, right: Right, what: str) -> None:
        """Note that somebody was refused; the log says so at most every ten seconds, and never what was shown."""
        with self._lock:
            self._refused += 1
            now = time.monotonic()
            if now - self._spoke_s < _QUIET_S:
                return
            refused, self._refused, self._spoke_s = self._refused, 0, now
        _log.warning(
            "refused since the last such line: %d; the last one had no valid %s token (%s)", refused, right, what
        )

    def _tokens(self) -> tuple[Token, ...]:
        if self._file is not None:
            self._reread(self._file)
        return self._given + self._read

    def _reread(self, file: Path) -> None:
        """Take over a changed file; one that cannot be read leaves the tokens as they were, and is tried again."""
        try:
            stamp = _stamp(file)
            if stamp == self._stamp:
                return
            with self._lock:
                self._read, self._stamp = _tokens(file), stamp
        except BadTokens as error:
            self.complain(error)
        else:
            _log.warning("%s has changed: %d tokens count now", file, len(self._read))

    def complain(self, error: BadTokens) -> None:
        """Say, not too often, that the file cannot be used."""
        with self._lock:
            now = time.monotonic()
            if now - self._spoke_s < _QUIET_S:
                return
            self._spoke_s = now
        _log.error("%s; the tokens that were read before still count", error)


def _tokens(file: Path) -> tuple[Token, ...]:
    try:
        found = tuple(parsed(file.read_text(encoding="utf-8").splitlines(), str(file)))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise BadTokens(f"the token file {file} cannot be read: {reason}") from error
    if not found:
        raise BadTokens(f"the token file {file} holds no token")
    return found


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except OSError as error:
        raise BadTokens(f"the token file {file} cannot be read: {error.strerror}") from error
    return found.st_mtime_ns, found.st_size, found.st_ino


def _offered(authorization: str | None) -> str | None:
    scheme, _, rest = (authorization or "").strip().partition(" ")
    match scheme.lower():
        case "bearer":
            return rest.strip() or None
        case "basic":
            return _password(rest.strip())
    return None


def _password(credentials: str) -> str | None:
    try:
        plain = base64.b64decode(credentials, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return plain.partition(":")[2] or None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
