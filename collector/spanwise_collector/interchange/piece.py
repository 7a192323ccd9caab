"""What a file is made of: requests and the places where they stand, and what could not be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from spanwise_collector.otlp.decode import Parcel, decode
from spanwise_collector.otlp.document import decode_document

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
_DECODERS: Final[Mapping[str, Callable[[bytes], Parcel]]] = {PROTOBUF: decode, JSON: decode_document}


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of a file: a line, a document, or a length and what follows it; ``place`` is for people."""

    place: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Body:
    """One trace request as OTLP/HTTP takes it."""

    content: bytes
    media_type: str

    def parcel(self) -> Parcel:
        """Decoded; raises Malformed if it is no trace request."""
        return _DECODERS[self.media_type](self.content)


@dataclass(frozen=True, slots=True)
class Piece:
    """A request, where it stands, and by which format it was read."""

    place: str
    body: Body
    format: str


@dataclass(frozen=True, slots=True)
class Fault:
    """What is left out of an import, where it stands and why."""

    place: str
    reason: str
    spans: int = 0
    """How many spans are left out, 0 where nobody can know."""
