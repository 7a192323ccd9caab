"""Ended spans that wait to be sent, bounded by number and by bytes."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from opentelemetry.sdk.trace import ReadableSpan

from spanwise import weight

MAX_BYTES = 64 * 2**20

Weighed: TypeAlias = tuple[ReadableSpan, int]


class Backlog:
    """When it is full the oldest give way: what happens now matters more to whoever looks. Not for many threads."""

    def __init__(self, max_spans: int, max_bytes: int = MAX_BYTES) -> None:
        self._max_spans, self._max_bytes = max_spans, max_bytes
        self._waiting: deque[Weighed] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, span: ReadableSpan) -> int:
        """Take ``span`` in; tells how many had to give way."""
        nbytes = weight.of_span(span)
        self._waiting.append((span, nbytes))
        self._bytes += nbytes
        dropped = 0
        while len(self._waiting) > self._max_spans or (self._bytes > self._max_bytes and len(self._waiting) > 1):
            self._bytes -= self._waiting.popleft()[1]
            dropped += 1
        return dropped

    def take(self, max_spans: int, max_bytes: int) -> list[Weighed]:
        """The oldest, as many as fit, and at least one if there is any."""
        batch: list[Weighed] = []
        size = 0
        while self._waiting and len(batch) < max_spans:
            size += self._waiting[0][1]
            if batch and size > max_bytes:
                break
            batch.append(self._waiting.popleft())
        self._bytes -= sum(nbytes for _, nbytes in batch)
        return batch

    def restore(self, batch: list[Weighed]) -> None:
        """Put back what was taken last."""
        self._waiting.extendleft(reversed(batch))
        self._bytes += sum(nbytes for _, nbytes in batch)

    def clear(self) -> None:
        """Forget everything."""
        self._waiting.clear()
        self._bytes = 0
