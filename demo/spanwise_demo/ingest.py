"""The ``spanwise serve`` that the demo starts, and what its API says of a conversation."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_ANY = ("--port", "0", "--otlp-grpc-port", "0", "--otlp-http-port", "0")
_SEEN_S = 10.0
_STOP_S = 20.0


class Ingest:
    """One server on free ports with its own database file, for the length of a ``with`` block."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self.page = self.otlp = ""
        self._running: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Returns once it listens; RuntimeError when it ends before."""
        command = [sys.executable, "-m", "spanwise.command", "serve", "--db", str(self.database), *_ANY, "--json"]
        self._running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
        line = self._running.stdout.readline() if self._running.stdout else ""
        if not line:
            raise RuntimeError(f"spanwise serve ended with status {self._running.wait()}")
        said = json.loads(line)
        self.page, self.otlp = said["api"], said["otlp_http"]
        return self

    def conversation(self, conversation_id: str) -> dict[str, Any]:
        """The whole answer for one conversation; HTTPError when it is still unknown after some seconds."""
        url = f"{self.page}/api/v1/conversations/{urllib.parse.quote(conversation_id, safe='')}"
        deadline = time.monotonic() + _SEEN_S
        while True:
            try:
                return _read(url)
            except urllib.error.HTTPError as error:
                if error.code != 404 or time.monotonic() > deadline:  # noqa: PLR2004 - not found yet
                    raise
            time.sleep(0.1)

    def wait(self) -> None:
        """Until somebody stops it."""
        if self._running is not None:
            self._running.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it in order."""
        running, self._running = self._running, None
        if running is None:
            return
        running.terminate()
        running.wait(_STOP_S)
        if running.stdout is not None:
            running.stdout.close()


def _read(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=30) as response:  # noqa: S310 - our own server on loopback
        found: dict[str, Any] = json.loads(response.read())
    return found
