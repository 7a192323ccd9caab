"""Processes that the demo starts: each says in one line of JSON where it listens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

_STOP_S = 5.0


class Process:
    """``python -m module arguments``, running until the end of the ``with`` block."""

    def __init__(
        self, module: str, arguments: Sequence[str] = (), *, environment: Mapping[str, str] | None = None
    ) -> None:
        self._command = [sys.executable, "-m", module, *arguments]
        self._environment = {**os.environ, **(environment or {})}
        self._running: subprocess.Popen[str] | None = None

    def launch(self) -> None:
        """Starts it without waiting for it."""
        self._running = subprocess.Popen(  # noqa: S603 - our own modules
            self._command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def said(self) -> dict[str, Any]:
        """What it says of itself once it listens; RuntimeError when it ends before."""
        running = self._running
        line = running.stdout.readline() if running and running.stdout else ""
        if not line:
            raise RuntimeError(f"{' '.join(self._command[1:])} ended before it listened")
        said: dict[str, Any] = json.loads(line)
        return said

    def stop(self) -> int | None:
        """Ends it in order: by the end of its input, else by a signal, at last by force; its exit status."""
        running, self._running = self._running, None
        if running is None:
            return None
        if running.stdin is not None:
            running.stdin.close()
        for end in (_nothing, running.terminate, running.kill):
            end()
            if _ended(running):
                break
        if running.stdout is not None:
            running.stdout.close()
        return running.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _nothing() -> None:
    """The end of its input is enough for a process that listens to it."""


def _ended(running: subprocess.Popen[str]) -> bool:
    try:
        running.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        return False
    return True
