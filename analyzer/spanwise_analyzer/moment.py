"""Points in time as people write them: RFC 3339, or an age such as ``-1h``."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_AGE = re.compile(r"-(\d{1,9})(s|m|h|d|w)")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_GIGA = 1_000_000_000


def parse(text: str, *, now_ns: int) -> int:
    """Return ns since the epoch; ``ValueError`` names what was expected."""
    age = _AGE.fullmatch(text)
    if age:
        return max(0, now_ns - int(age[1]) * _UNIT_S[age[2]] * _GIGA)
    found = _RFC3339.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is neither RFC 3339 (2026-11-30T20:00:00Z) nor an age (-15m, -1h, -7d)")
    return _instant(found)


def _instant(found: re.Match[str]) -> int:
    day, clock, fraction, zone = found.groups()
    offset = "+00:00" if zone in "Zz" else zone
    try:
        whole = datetime.fromisoformat(f"{day}T{clock}{offset}")
    except ValueError as error:
        raise ValueError(f"{found[0]!r} is not a date: {error}") from error
    ns = int(whole.timestamp()) * _GIGA + int((fraction or "0").ljust(9, "0"))
    if not 0 <= ns < 2**63:
        raise ValueError(f"{found[0]!r} lies outside the years 1970 to 2262")
    return ns


def rfc3339(ns: int) -> str:
    """UTC with nine digits, so that nothing is lost and the text sorts."""
    seconds, rest = divmod(ns, _GIGA)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
