"""Where imported requests go: into a store, or nowhere when they are only counted."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol

from spanwise_collector.interchange.piece import Body
from spanwise_collector.store import Accepted, Overloaded, Store


class Destination(Protocol):
    """Takes requests; what becomes of one is known when its future resolves."""

    def take(self, body: Body) -> Future[Accepted]:
        """Wait for room, then take one in; raises Malformed, as the future may."""


class Nowhere:
    """Decodes and counts."""

    def take(self, body: Body) -> Future[Accepted]:
        """See Destination."""
        parcel = body.parcel()
        done: Future[Accepted] = Future()
        done.set_result(Accepted(parcel.spans, parcel.rejected, parcel.message))
        return done


class IntoStore:
    """A store that this process has opened."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def take(self, body: Body) -> Future[Accepted]:
        """See Destination."""
        parcel = body.parcel()
        while True:
            try:
                return self._store.deliver(parcel)
            except Overloaded:
                # The queue has waited its patience; a file can wait for as long as the writer works.
                if not self._store.load().requests:
                    raise
