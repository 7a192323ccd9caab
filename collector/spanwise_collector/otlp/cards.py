"""Finds numbers of payment cards in a text: 13 to 19 digits, in groups or not, that pass the cards' own check."""

from __future__ import annotations

import re
from typing import Final

_RUN: Final = re.compile(r"(?<!\d)\d{4,}(?:[ -]\d{3,}(?!\d))*")
_SHORTEST, _LONGEST = 13, 19
_ISSUERS: Final = frozenset("23456")  # first digits of card numbers


def masked(text: str, mark: str) -> tuple[str, int]:
    """The text with ``mark`` for each card number, and how many there were."""
    times = 0

    def mask(run: re.Match[str]) -> str:
        nonlocal times
        if len(run[0]) < _SHORTEST:
            return run[0]
        parts = re.split(r"([ -])", run[0])  # digits, separator, digits, …
        kept: list[str] = []
        at = 0
        while at < len(parts):
            taken = _card(parts, at)
            times += taken > 0
            kept.append(mark if taken else parts[at])
            at += taken or 1
        return "".join(kept)

    return _RUN.sub(mask, text), times


def _card(parts: list[str], first: int) -> int:
    """How many parts, from this one on, make up a card number, the longest one; 0 for none."""
    found, digits = 0, ""
    if parts[first][0] not in _ISSUERS:
        return 0
    for count in range(1, len(parts) - first + 1, 2):
        digits += parts[first + count - 1]
        if len(digits) > _LONGEST:
            break
        if len(digits) >= _SHORTEST and _valid(digits):
            found = count
    return found


def _valid(digits: str) -> bool:
    """Luhn: every second digit from the right counts twice."""
    numbers = [int(digit) for digit in digits]
    doubled = (sum(divmod(2 * number, 10)) for number in numbers[-2::-2])
    return (sum(numbers[-1::-2]) + sum(doubled)) % 10 == 0
