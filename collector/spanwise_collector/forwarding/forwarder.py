"""All targets, in one event loop of a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import TimeoutError as Late
from typing import Final

from spanwise_collector.forwarding.loops import refuse_own
from spanwise_collector.forwarding.relay import Counts, Relay, Request
from spanwise_collector.forwarding.rpc import RpcSender
from spanwise_collector.forwarding.target import Target
from spanwise_collector.forwarding.web import WebSender

QUEUE_BYTES: Final = 64 * 2**20  # for each target
TIMEOUT_S: Final = 10.0  # for one try, from connecting to the answer


class Forwarder:
    """Passes requests on from ``start`` to ``stop``."""

    def __init__(
        self,
        targets: Sequence[Target],
        headers: Mapping[str, str],
        *,
        queue_bytes: int = QUEUE_BYTES,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._headers = headers
        self._timeout_s = timeout_s
        self._loop = asyncio.new_event_loop()
        self._relays = [(target, Relay(target.name, queue_bytes, self._loop)) for target in targets]
        self._thread = threading.Thread(target=self._loop.run_forever, name="spanwise-forwarding", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()
        for target, relay in self._relays:
            asyncio.run_coroutine_threadsafe(self._run(target, relay), self._loop)

    def refuse_own(self, addresses: Iterable[str]) -> None:
        """Raise OSError if a target is one of these, where this process listens."""
        refuse_own([target for target, _ in self._relays], addresses)

    def offer(self, body: bytes, spans: int) -> None:
        """Pass a stored request on to every target; never waits."""
        request = Request(body, spans)
        for _, relay in self._relays:
            relay.offer(request)

    def stop(self, grace_s: float) -> None:
        """Send what waits within the grace, then end; what is left is told."""
        if not self._thread.is_alive():
            return
        drained = asyncio.run_coroutine_threadsafe(self._drain(), self._loop)
        try:
            drained.result(grace_s)
        except Late:
            for _, relay in self._relays:
                relay.abandon()
        asyncio.run_coroutine_threadsafe(self._cancel(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def counts(self) -> Mapping[str, Counts]:
        """Counts by name of the target."""
        found: dict[str, Counts] = {}
        for target, relay in self._relays:
            found[target.name] = found.get(target.name, Counts()) + relay.counts()
        return found

    async def _run(self, target: Target, relay: Relay) -> None:
        kind = RpcSender if target.grpc else WebSender
        sender = kind(target, self._headers, self._timeout_s)
        try:
            await relay.run(sender)
        finally:
            await sender.close()

    async def _drain(self) -> None:
        await asyncio.gather(*(relay.drain() for _, relay in self._relays))

    async def _cancel(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
