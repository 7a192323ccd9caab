"""One target's own queue: bounded by bytes, sent by a few at a time, with patience."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from dataclasses import dataclass
from typing import Final, Protocol

from spanwise_collector.forwarding.verdict import LONGEST_WAIT_S, Outcome, Verdict

_log = logging.getLogger(__name__)

_SENDERS: Final = 4
_FIRST_S: Final = 1.0
_LONGEST_S: Final = 30.0
_SPREAD: Final = 0.2


class Sender(Protocol):
    """A way to hand over one request."""

    async def send(self, body: bytes) -> Verdict:
        """Hand over one serialized request."""


@dataclass(frozen=True, slots=True)
class Request:
    """A serialized request and how many spans are in it."""

    body: bytes
    spans: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Spans that were taken, spans that were dropped, and bytes that wait."""

    forwarded: int = 0
    dropped: int = 0
    nbytes: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.forwarded + other.forwarded, self.dropped + other.dropped, self.nbytes + other.nbytes)


class Relay:
    """``offer`` may be called by any thread and never waits; everything else belongs to the event loop."""

    def __init__(self, name: str, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        self._name = name
        self._limit = limit
        self._loop = loop
        self._requests: asyncio.Queue[Request] = asyncio.Queue()
        self._counts = Counts()
        self._lock = threading.Lock()
        self._told = False

    def offer(self, request: Request) -> None:
        """Queue it, or drop it when the queue is full."""
        size = len(request.body)
        with self._lock:
            full = self._counts.nbytes + size > self._limit
            self._counts += Counts(dropped=request.spans) if full else Counts(nbytes=size)
        if full:
            self._tell("its queue is full")
        else:
            self._loop.call_soon_threadsafe(self._requests.put_nowait, request)

    def counts(self) -> Counts:
        """What became of the spans so far."""
        with self._lock:
            return self._counts

    async def run(self, sender: Sender) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(_SENDERS):
                group.create_task(self._send_all(sender))

    async def drain(self) -> None:
        """Until nothing waits."""
        await self._requests.join()

    def abandon(self) -> None:
        """Count what is left as dropped and say so."""
        with self._lock:
            left = self._counts.nbytes
        if left:
            _log.warning("forwarding to %s ends: %d bytes of requests were not taken in time", self._name, left)

    async def _send_all(self, sender: Sender) -> None:
        while True:
            request = await self._requests.get()
            verdict = await self._send(sender, request.body)
            self._count(request, verdict)
            self._requests.task_done()

    async def _send(self, sender: Sender, body: bytes) -> Verdict:
        """Try until it is taken or refused; a target that is there but always busy is given up after a while."""
        began, wait_s = time.monotonic(), _FIRST_S
        while True:
            verdict = await _asked(sender, body)
            lasted_s = time.monotonic() - began
            busy = verdict.outcome is Outcome.BUSY and lasted_s < LONGEST_WAIT_S
            if not busy and verdict.outcome is not Outcome.SILENT:
                return verdict
            await asyncio.sleep(verdict.after_s or wait_s * random.uniform(1 - _SPREAD, 1 + _SPREAD))  # noqa: S311
            wait_s = min(_LONGEST_S, 2 * wait_s)

    def _count(self, request: Request, verdict: Verdict) -> None:
        taken = verdict.outcome is Outcome.TAKEN
        size = len(request.body)
        with self._lock:
            counted = Counts(forwarded=request.spans) if taken else Counts(dropped=request.spans)
            self._counts += counted + Counts(nbytes=-size)
        if taken:
            self._told = False
        else:
            self._tell(verdict.reason)

    def _tell(self, reason: str) -> None:
        """Once, until the target takes something again."""
        if not self._told:
            self._told = True
            _log.warning("spans are not forwarded to %s but stored and counted as dropped: %s", self._name, reason)


async def _asked(sender: Sender, body: bytes) -> Verdict:
    """The verdict; a request that cannot even be sent must not keep those behind it."""
    try:
        return await sender.send(body)
    except Exception as error:  # noqa: BLE001  # whatever it is
        return Verdict(Outcome.REFUSED, f"{type(error).__name__}: {error}")
