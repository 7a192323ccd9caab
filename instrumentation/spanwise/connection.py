"""Whether a request opened a connection or found one open, seen through the HTTP library's own trace events."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

from opentelemetry.util.types import AttributeValue

from spanwise import semconv

EXTENSION = "trace"  # where httpcore looks for a callable
Callback: TypeAlias = Callable[[str, dict[str, Any]], Any]
Heard: TypeAlias = Callable[[str, Mapping[str, Any]], object]

_CONNECT = ("connect_tcp", "connect_unix_socket")
_TLS = "start_tls"


class Connection:
    """What one request told about its connection: nothing is known until it has reached the wire."""

    def __init__(self) -> None:
        self._new = False
        self._sent = False
        self._started: dict[str, float] = {}
        self._took: dict[str, float] = {}

    def attributes(self) -> dict[str, AttributeValue]:
        """New or reused, and what connecting cost in seconds; empty where the request never got that far."""
        if not (self._new or self._sent):
            return {}
        found: dict[str, AttributeValue] = {semconv.CONNECTION_NEW: self._new}
        if "connect" in self._took:
            found[semconv.CONNECTION_CONNECT_TIME] = self._took["connect"]
        if "tls" in self._took:
            found[semconv.CONNECTION_TLS_TIME] = self._took["tls"]
        return found

    def event(self, name: str) -> bool:
        """Take one event ("connection.connect_tcp.started", "http11.send_request_headers.started"); True tells
        that the connection is settled: the request goes out on it, or it could not be opened.
        """
        place, _, moment = name.rpartition(".")
        step = place.rpartition(".")[2]
        if step in _CONNECT:
            self._new = True
            self._time("connect", moment)
        elif step == _TLS:
            self._time("tls", moment)
        elif step == "send_request_headers":
            self._sent = True
        return moment == "failed" or (self._sent and moment == "started")

    def _time(self, what: str, moment: str) -> None:
        if moment == "started":
            self._started[what] = time.perf_counter()
        elif what in self._started:
            self._took[what] = time.perf_counter() - self._started.pop(what)


def listen(extensions: MutableMapping[str, Any] | None, heard: Heard, *, part: str, asynchronous: bool) -> None:
    """Have ``heard`` told each event of the request with these ``extensions``; a listener already there stays.

    A request that is sent again has ours already: each ``part`` of us listens to the newest sending only.
    """
    if extensions is None:
        return
    found = extensions.get(EXTENSION)
    if not isinstance(found, _Listener):
        found = extensions[EXTENSION] = (_AsyncListener if asynchronous else _Listener)(found)
    found.parts[part] = heard


class _Listener:
    """Takes the place of the program's own listener, if it has one, and hands on to it."""

    def __init__(self, earlier: Callback | None) -> None:
        self.parts: dict[str, Heard] = {}
        self._earlier = earlier

    def __call__(self, name: str, info: dict[str, Any]) -> Any:
        for heard in list(self.parts.values()):
            heard(name, info)
        return self._earlier(name, info) if self._earlier is not None else None


class _AsyncListener(_Listener):
    async def __call__(self, name: str, info: dict[str, Any]) -> Any:
        answer = super().__call__(name, info)
        return await answer if inspect.isawaitable(answer) else answer
