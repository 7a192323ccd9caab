"""What tool descriptions say: the point, or the point and a lot more."""

from __future__ import annotations

import random

_PHRASES = (
    "This is a tool that can be used by the assistant in all those situations in which",
    "the customer may at some moment of the conversation have expressed the wish that",
    "please note that, depending on the configuration of the shop and of the region,",
    "the result will under normal circumstances contain all of the relevant information and",
    "for reasons of compatibility with earlier versions of the interface it remains possible that",
    "it should be kept in mind by the caller that further conditions might apply whenever",
)


def describe(point: str, words: int) -> str:
    """The point, then about this many words that add nothing."""
    chance = random.Random(point)  # noqa: S311 - made-up wording
    said: list[str] = []
    while len(said) < words:
        said += chance.choice(_PHRASES).split()
    return " ".join([point, *said[:words]])
