"""Reads files piece by piece into a destination; what cannot be read is left out, counted and named."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import BinaryIO, Final, TypeAlias

from spanwise_collector.interchange.destination import Destination
from spanwise_collector.interchange.file import Unreadable, reading
from spanwise_collector.interchange.formats import pieces
from spanwise_collector.interchange.framing import frames
from spanwise_collector.interchange.piece import Fault, Frame, Piece
from spanwise_collector.interchange.report import Report
from spanwise_collector.otlp.decode import Malformed
from spanwise_collector.store import Accepted

Progress: TypeAlias = Callable[[int, int], None]  # bytes of the file that are read, spans that are taken in

_OPEN: Final = 64  # pieces on their way
_OPEN_BYTES: Final = 32 * 2**20


def imported(name: str, destination: Destination, progress: Progress) -> Report:
    """Import one file (``-``: standard input); raises OSError where the destination fails, never for the file."""
    report = Report(name)
    way = _Way(report)
    try:
        with reading(name) as (stream, raw):
            for found in _found(frames(stream), report):
                way.go(found, destination)
                progress(_position(raw), report.spans)
            way.arrive()
    except Unreadable as error:
        way.arrive()
        report.leave_out(Fault("the file", str(error)))
    return report


class _Way:
    """Pieces that were given to the destination and are not answered; bounded."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._open: deque[tuple[Piece, Future[Accepted]]] = deque()
        self._nbytes = 0

    def go(self, piece: Piece, destination: Destination) -> None:
        while self._open and (len(self._open) == _OPEN or self._nbytes + len(piece.body.content) > _OPEN_BYTES):
            self._settle()
        try:
            self._open.append((piece, destination.take(piece.body)))
        except Malformed as error:
            self._report.leave_out(Fault(piece.place, str(error)))
        else:
            self._nbytes += len(piece.body.content)

    def arrive(self) -> None:
        while self._open:
            self._settle()

    def _settle(self) -> None:
        piece, future = self._open.popleft()
        self._nbytes -= len(piece.body.content)
        try:
            accepted = future.result()
        except Malformed as error:
            self._report.leave_out(Fault(piece.place, str(error)))
            return
        self._report.spans += accepted.spans
        self._report.formats[piece.format] += accepted.spans
        if accepted.rejected:
            self._report.leave_out(Fault(piece.place, accepted.message, accepted.rejected))


def _found(cut: Iterator[Frame | Fault], report: Report) -> Iterator[Piece]:
    for frame in _readable(cut):
        found = [frame] if isinstance(frame, Fault) else pieces(frame)
        empty = True
        for each in found:
            empty = False
            if isinstance(each, Fault):
                report.leave_out(each)
            else:
                yield each
        report.without_spans += empty


def _readable(cut: Iterator[Frame | Fault]) -> Iterator[Frame | Fault]:
    try:
        yield from cut
    except OSError as error:
        raise Unreadable(str(error)) from error


def _position(raw: BinaryIO) -> int:
    try:
        return raw.tell()
    except OSError:  # a pipe
        return 0
