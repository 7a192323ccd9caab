"""What the agent tells the model."""

from __future__ import annotations

import random
from collections.abc import Sequence

UNDERSTAND = "Read the customer's message and return the intent and the numbers in it as JSON."
LOOK = "Look at the photographs of the returned article and return the damage as JSON."
READ = "Read the invoice and return the number and the parcel on it as JSON."
PAGE = "Read this page of the customer's statements and return what it is about as JSON."
_SUBJECTS = ("Goods", "Refunds", "Parcels", "Vouchers", "Complaints", "Damaged articles", "Late deliveries", "Gifts")
_RULES = (
    "are handled by the team of the region in which the customer lives",
    "must be recorded on the day on which they come in",
    "need the consent of a second person above two hundred euros",
    "are answered in the language in which the customer wrote",
    "follow the thirty day rule unless the law of the country says otherwise",
)


def procedure(tools: Sequence[str], words: int) -> str:
    """Instructions for a consultation: which tools, and how long the answer may be."""
    steps = "\n".join(f"- Use `{tool}`." for tool in tools)
    return (
        "You are the returns assistant of a small shop. State only what the tools return.\n"
        f"Request all the tools you need at once:\n{steps}\nThen answer in at most {words} words."
    )


def text(kind: str, words: int | None, *, brief: int) -> str:
    """Instructions for a text: brief, or explaining everything in about ``words`` words."""
    if words is None:
        return f"Task: {kind}. Write at most {brief} words."
    return f"Task: {kind}. Explain all considerations in about {words} words."


def reference(words: int) -> str:
    """The shop's handbook, the same in every request: about this many words."""
    chance = random.Random(words)  # noqa: S311 - made-up wording
    said: list[str] = ["Handbook", "of", "the", "shop."]
    while len(said) < words:
        said += f"{chance.choice(_SUBJECTS)} {chance.choice(_RULES)}.".split()
    return " ".join(said[:words])
