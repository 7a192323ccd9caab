"""The body of an answer that the program reads by itself, kept so that it can be understood at its end."""

from __future__ import annotations

from typing import Any

from spanwise.openai import wire
from spanwise.openai.call import ModelCall
from spanwise.safety import guarded

MAX_KEPT = 4 * 1024 * 1024


class Body:
    """Counts the bytes of one call's answer; keeps them as well, up to a limit, where the SDK does not parse them."""

    def __init__(self, response: Any, call: ModelCall) -> None:
        self._kind, self._headers, self._call = type(response), response.headers, call
        self._pieces: list[bytes] = []
        self._size = 0
        self._whole = False

    @guarded
    def add(self, data: bytes) -> None:
        """Bytes came, as they were on the wire."""
        self._size += len(data)
        self._call.arrived()
        if self._call.tapped:
            return
        if self._call.streamed:  # nobody else will see the first event
            self._call.first_byte()
        if self._size <= MAX_KEPT:
            self._pieces.append(data)

    def ended(self) -> None:
        """The last byte has come."""
        self._whole = True

    @guarded
    def broke(self, error: BaseException) -> None:
        """Reading failed; where the SDK reads for the program, it tells so in its own words."""
        if not self._call.pulling:
            self._understand()
            self._call.fail(error)

    @guarded
    def closed(self) -> None:
        """Nothing more will be read: end the call with what the body says."""
        if self._call.pulling:
            # While the SDK reads, the end of the body is only the end of reading: what it means, the tap will say.
            self._call.received(self._size)
            return
        understood = self._understand()
        if self._whole and not self._call.tapped and not (understood and self._call.streamed):
            self._call.finish()
        else:
            self._call.leave()

    @guarded
    def _understand(self) -> bool:
        if self._size:
            self._call.received(self._size)
        pieces, self._pieces = self._pieces, []
        if not pieces or self._size > MAX_KEPT or (whole := self._decoded(pieces)) is None:
            return False
        wire.read(whole, self._call.reader)
        return True

    def _decoded(self, pieces: list[bytes]) -> Any:
        # A response of the library's own kind undoes the compression.
        try:
            return self._kind(200, headers=self._headers, content=b"".join(pieces))
        except Exception:  # noqa: BLE001 - each library has its own class for what was compressed badly, or is cut
            return None
