"""The body of an answer that the program reads by itself, kept so that it can be understood at its end."""

from __future__ import annotations

from typing import Any

from spanwise.openai import wire
from spanwise.openai.call import ModelCall

MAX_KEPT = 4 * 1024 * 1024


class Body:
    """Counts the bytes; keeps them as well where ``keep``, up to a limit."""

    def __init__(self, kind: type[Any], headers: Any, *, keep: bool) -> None:
        self._kind, self._headers, self._keep = kind, headers, keep
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, data: bytes, call: ModelCall) -> None:
        """Bytes came, as they were on the wire."""
        self._size += len(data)
        if self._keep and call.streamed:  # nobody else will see the first event
            call.first_byte()
        if self._keep and self._size <= MAX_KEPT:
            self._pieces.append(data)

    def deliver(self, call: ModelCall) -> None:
        """End ``call`` with what the body says."""
        if self._size:
            call.received(self._size)
        if self._keep and 0 < self._size <= MAX_KEPT:
            self._understand(call)
        if self._keep and not call.streamed and self._size:
            call.finish()
        else:
            call.leave()

    def _understand(self, call: ModelCall) -> None:
        # A response of the library's own kind undoes the compression.
        whole = self._kind(200, headers=self._headers, content=b"".join(self._pieces))
        wire.read(whole, call.reader)
