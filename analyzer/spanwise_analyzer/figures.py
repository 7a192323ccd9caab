"""Numbers as people read them: three digits of a duration, a share in percent, a bar."""

from __future__ import annotations

from collections.abc import Mapping

NONE = "-"
_SECOND_MS = 1000
_MINUTE_MS = 60_000
_HOUR_MIN = 60


def duration(ms: float | None) -> str:
    """Milliseconds in the unit that fits, about three digits; a dash for None."""
    if ms is None:
        return NONE
    if ms >= _MINUTE_MS:
        return _long(round(ms / _SECOND_MS))
    if round(ms) >= _SECOND_MS:
        return f"{three(ms / _SECOND_MS)} s"
    return f"{three(ms)} ms" if ms else "0 ms"


def _long(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    if minutes < _HOUR_MIN:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // _HOUR_MIN} h {minutes % _HOUR_MIN:02d} min"


def three(number: float) -> str:
    """About three significant digits, never in exponent form."""
    if abs(number) >= 100:  # noqa: PLR2004 - digits before the point
        return f"{number:.0f}"
    return f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"  # noqa: PLR2004 - as above


def spread(saving: Mapping[str, float]) -> str:
    """From ``low`` to ``high`` in ms; empty where both read the same."""
    low, high = duration(saving["low"]), duration(saving["high"])
    return "" if low == high else f"{low} to {high}"


def percent(share: float | None) -> str:
    """A share of one in percent; a dash for None."""
    return NONE if share is None else f"{100 * share:.1f} %"


def bar(share: float, *, width: int) -> str:
    """A bar of block characters, eighths included; any share above zero shows."""
    eighths = max(1 if share > 0 else 0, round(min(1.0, max(0.0, share)) * width * 8))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def count(number: int | None) -> str:
    """A whole number with thousands apart; a dash for None."""
    return NONE if number is None else f"{number:,}".replace(",", "\N{THIN SPACE}")
