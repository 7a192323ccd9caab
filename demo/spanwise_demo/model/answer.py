"""An answer on its way out: the reply, what it cost and how it is cut into pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spanwise_demo.model.ask import Ask, Reply
from spanwise_demo.model.deployment import Admission
from spanwise_demo.model.policy import output_tokens
from spanwise_demo.model.prompt import TOKEN_BYTES, tokens

_SLICE_TOKENS = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply with its id, its creation second, and the admission that says when it comes."""

    id: str
    created: int
    ask: Ask
    reply: Reply
    admission: Admission

    @property
    def output_tokens(self) -> int:
        """Tokens that the reply takes."""
        return output_tokens(self.reply)


def slices(text: str) -> Iterator[tuple[str, int]]:
    """The text in the pieces in which it is streamed, each with its tokens."""
    size = _SLICE_TOKENS * TOKEN_BYTES
    for start in range(0, len(text), size):
        piece = text[start : start + size]
        yield piece, tokens(piece)
