"""How far the database was when it last answered a sender, in a small file beside it.

The file is written without waiting for the disk: it survives the end of the process, however sudden, and is
only a second opinion after a power failure.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)

_NAME: Final = "{}.seq"
_LINE: Final = "{:020d} {:020d}\n"  # of one length, so that it can be written over


@dataclass(frozen=True, slots=True)
class Count:
    """Newest batch, and spans in all batches."""

    seq: int
    spans: int


def noted(database: str) -> Count | None:
    """What was last noted for this database; None if nothing was, or nobody can read it."""
    try:
        seq, spans = map(int, Path(_NAME.format(database)).read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return None
    return Count(seq, spans)


class Tally:
    """Notes committed batches; used by the writer thread."""

    def __init__(self, database: str, count: Count) -> None:
        self._file = os.open(_NAME.format(database), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._count = count
        self._note()

    @property
    def seq(self) -> int:
        """The newest batch."""
        return self._count.seq

    def add(self, spans: int) -> None:
        """One more batch is committed."""
        self._count = Count(self._count.seq + 1, self._count.spans + spans)
        self._note()

    def restart(self, count: Count) -> None:
        """The file was opened anew and holds this much."""
        self._count = count
        self._note()

    def remove(self, spans: int) -> None:
        """This many spans of committed batches are deleted."""
        self._count = Count(self._count.seq, self._count.spans - spans)
        self._note()

    def close(self) -> None:
        """Give up the file."""
        os.close(self._file)

    def _note(self) -> None:
        # The batch is safe without this; a sender must not hear that it was lost.
        try:
            os.pwrite(self._file, _LINE.format(self._count.seq, self._count.spans).encode("ascii"), 0)
        except OSError:
            _log.debug("the newest batch could not be noted", exc_info=True)
