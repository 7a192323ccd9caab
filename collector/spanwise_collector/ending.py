"""What SIGTERM and SIGINT do: the first asks for an orderly end, the second ends the process at once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def on_signal(end: Callable[[], None]) -> None:
    """Call ``end`` at the first signal and leave the second one to the system.

    Nothing acknowledged is lost by that: it is committed before. The system does not wait for Python, which may be
    inside the engine.
    """

    def heed(_number: int, _frame: FrameType | None) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        end()

    for number in _SIGNALS:
        signal.signal(number, heed)
