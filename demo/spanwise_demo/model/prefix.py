"""The service's prompt cache: it reuses the longest beginning that an earlier request already had."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from spanwise_demo.model.prompt import TOKEN_BYTES

FIRST_TOKENS = 1024
STEP_TOKENS = 128


class PrefixCache:
    """Beginnings of earlier prompts, at 1,024 tokens and every 128 after."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def hit(self, content: bytes) -> int:
        """Cached tokens of this prompt; afterwards its own beginnings are cached too."""
        cached = 0
        for count, digest in _beginnings(content):
            if digest in self._seen:
                cached = count
            self._seen.add(digest)
        return cached


def _beginnings(content: bytes) -> Iterator[tuple[int, bytes]]:
    running, done = hashlib.sha256(), 0
    for count in range(FIRST_TOKENS, len(content) // TOKEN_BYTES + 1, STEP_TOKENS):
        running.update(content[done : count * TOKEN_BYTES])
        done = count * TOKEN_BYTES
        yield count, running.copy().digest()
