"""The formats of trace files, one module each; a new one is added to one of the lists."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, Final

from spanwise_collector.interchange.formats import (
    clickhouse,
    jaeger,
    langfuse,
    observation,
    other_signals,
    otlp_json,
    otlp_protobuf,
    sdk,
    stranger,
    wrapped,
)
from spanwise_collector.interchange.formats.format import DocumentFormat, Format, keys
from spanwise_collector.interchange.piece import Body, Fault, Frame, Piece
from spanwise_collector.otlp.decode import Malformed

FORMATS: Final[tuple[Format, ...]] = (otlp_json.FORMAT, other_signals.FORMAT, otlp_protobuf.FORMAT)
DOCUMENTS: Final[tuple[DocumentFormat, ...]] = (
    wrapped.FORMAT,
    jaeger.FORMAT,
    clickhouse.FORMAT,
    langfuse.FORMAT,
    observation.FORMAT,
    sdk.FORMAT,
)
NAMES: Final = (*(each.name for each in FORMATS), *(each.name for each in DOCUMENTS))


def pieces(frame: Frame) -> Iterator[Piece | Fault]:
    """The requests of a frame, by the first format that it fits; each frame is looked at by itself."""
    frame = Frame(frame.place, frame.body.removeprefix(codecs.BOM_UTF8))
    found = next((each for each in FORMATS if each.fits(frame.body)), None)
    try:
        if found is not None:
            yield from _placed(frame, found.name, found.bodies(frame.body))
        elif frame.body.lstrip().startswith((b"{", b"[")):
            yield from _document(frame)
        else:
            yield _unknown(frame)
    except Malformed as error:
        yield Fault(frame.place, str(error))


def _document(frame: Frame) -> Iterator[Piece | Fault]:
    try:
        document = json.loads(frame.body)
    except (ValueError, RecursionError) as error:
        yield Fault(frame.place, f"not JSON: {error}")
        return
    found = next((each for each in DOCUMENTS if each.fits(document)), None)
    if found is not None:
        yield from _placed(frame, found.name, found.bodies(document))
    elif (what := stranger.introduced(document)) is not None:
        yield Fault(frame.place, f"this is {what}")
    else:
        yield _unknown(frame, document)


def _placed(frame: Frame, name: str, found: Iterator[Body | Fault]) -> Iterator[Piece | Fault]:
    for each in found:
        if isinstance(each, Fault):
            yield Fault(f"{frame.place}, {each.place}" if each.place else frame.place, each.reason, each.spans)
        else:
            yield Piece(frame.place, each, name)


def _unknown(frame: Frame, document: Any = None) -> Fault:
    known = ", ".join(NAMES)
    has = (
        f"has the fields {', '.join(sorted(keys(document))[:8])}"
        if keys(document)
        else f"begins with {frame.body[:40]!r}"
    )
    return Fault(frame.place, f"{has}, which is none of: {known}")
