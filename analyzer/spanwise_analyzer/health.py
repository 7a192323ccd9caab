"""Whether the server works, for orchestrators, and what it counts, for Prometheus."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from fastapi import APIRouter, Request, Response
from prometheus_client.exposition import choose_encoder

from spanwise_analyzer.books import Books
from spanwise_analyzer.meters import Counts, Forwarded, Redactions, registry
from spanwise_analyzer.reply import reply
from spanwise_analyzer.shapes import Condition
from spanwise_collector.store import Store

Trouble: TypeAlias = Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Monitor:
    """What health and metrics look at; ``draining`` is set when the server was told to end."""

    store: Store
    books: Books
    counts: Counts
    redactions: Redactions = dict
    forwarded: Forwarded = dict
    receiving: Trouble = lambda: None
    draining: threading.Event = field(default_factory=threading.Event)

    def condition(self) -> Condition:
        """Ready only if a span that came now would be stored."""
        checks = {
            "store": self.store.trouble,
            "memory": self.receiving(),
            "draining": "the server was told to end" if self.draining.is_set() else None,
        }
        return Condition("unavailable" if any(checks.values()) else "ok", checks)


def router(monitor: Monitor) -> APIRouter:
    """/healthz, /readyz and /metrics."""
    api = APIRouter(tags=["operation"])
    meters = registry(monitor.books, monitor.counts, monitor.redactions, monitor.forwarded)

    @api.get("/healthz", response_model=Condition)
    def healthz() -> Response:
        # A loss at the last start is told, but restarting the process would not bring anything back.
        return reply(Condition("ok", {"damage": monitor.store.damage}))

    @api.get("/readyz", response_model=Condition, responses={503: {"model": Condition}})
    def readyz() -> Response:
        found = monitor.condition()
        return reply(found, status=200 if found.status == "ok" else 503)

    @api.get("/metrics", response_class=Response)
    def metrics(request: Request) -> Response:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(meters), headers={"Content-Type": media_type})

    return api
