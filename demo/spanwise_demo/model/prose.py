"""Plausible customer-service sentences of a given length, the same for the same seed."""

from __future__ import annotations

import random

_OPENINGS = ("Thank you for writing to us.", "Thank you for your patience.", "I have looked into your return.")
_SUBJECTS = ("The order", "Your parcel", "The refund", "Our warehouse", "The carrier", "Your voucher", "The article")
_VERBS = ("was checked and", "is on record and", "has been confirmed and", "was found and", "is within the period and")
_ENDS = (
    "will be handled within three working days",
    "meets the conditions of our return policy",
    "is covered by the thirty day guarantee",
    "needs no further action from your side",
    "will be shown in your account shortly",
    "can be handed over at any collection point",
)


def prose(words: int, *, seed: int) -> str:
    """Text of exactly this many words."""
    chance = random.Random(seed)  # noqa: S311 - reproducible wording, not a secret
    said = chance.choice(_OPENINGS).split()
    while len(said) < words:
        said += f"{chance.choice(_SUBJECTS)} {chance.choice(_VERBS)} {chance.choice(_ENDS)}.".split()
    return " ".join(said[:words])
