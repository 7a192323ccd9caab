"""The formats of trace files, one module each; a new one is added to the list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spanwise_collector.interchange.formats import other_signals, otlp_json, otlp_protobuf
from spanwise_collector.interchange.formats.format import Format
from spanwise_collector.interchange.piece import Fault, Frame, Piece
from spanwise_collector.otlp.decode import Malformed

FORMATS: Final[tuple[Format, ...]] = (otlp_json.FORMAT, other_signals.FORMAT, otlp_protobuf.FORMAT)


def pieces(frame: Frame) -> Iterator[Piece | Fault]:
    """The requests of a frame, by the first format that it fits; each frame is looked at by itself."""
    found = next((each for each in FORMATS if each.fits(frame.body)), None)
    if found is None:
        known = ", ".join(each.name for each in FORMATS)
        yield Fault(frame.place, f"begins with {frame.body[:40]!r}, which is none of: {known}")
        return
    try:
        for body in found.bodies(frame.body):
            yield Piece(frame.place, body, found.name)
    except Malformed as error:
        yield Fault(frame.place, str(error))
