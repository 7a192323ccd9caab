"""What a program can see of a call: the differential test compares two of these."""

from __future__ import annotations

import re
from typing import Any

import openai

_ADDRESS = re.compile(r"0x[0-9a-f]+|127\.0\.0\.1[^0-9]+\d+")


class Record:
    """Notes of one run, in order."""

    def __init__(self) -> None:
        self.notes: list[Any] = []
        self.error: BaseException | None = None

    def handed(self, value: Any) -> None:
        """The SDK gave the program something: what it is, and what it counts as."""
        streams = isinstance(value, openai.Stream), isinstance(value, openai.AsyncStream)
        self.notes.append(("handed", type(value), streams, sorted(name for name in dir(value) if name[0] != "_")))

    def got(self, item: Any) -> None:
        """A piece of the answer, or all of it."""
        dump = getattr(item, "model_dump", None)
        self.notes.append(("got", type(item), dump(mode="json", warnings=False) if dump is not None else item))

    def closed(self, value: Any) -> None:
        """How the program leaves the answer."""
        response = getattr(value, "response", None) or getattr(value, "http_response", None)
        self.notes.append(("closed", getattr(response, "is_closed", None), getattr(response, "status_code", None)))

    def raised(self, error: BaseException) -> None:
        """The program got an exception."""
        self.error = error
        causes = [type(cause) for cause in (error.__cause__, error.__context__)]
        told = [getattr(error, name, None) for name in ("status_code", "code", "type", "request_id", "body")]
        self.notes.append(("raised", type(error), _ADDRESS.sub("…", str(error)), causes, error.args[1:], told))

    def served(self, service: Any, *, countable: bool) -> None:
        """What the service saw of the program; connections are counted where each run opens as many as the other."""
        connections = service.connections if countable else None
        self.notes.append(("served", tuple(service.received), connections, service.deserted()))
